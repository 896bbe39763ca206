"""Logs and images for people: text, XML and back, WebHDFS (oev and oiv in Hadoop; pure).

`edits` and `edit_xml` show logs; `lines`, `xml`, `reverse`, `web` and `check` images.
Arrows: `viewers -> image, edits`; nothing imports a viewer but the command line.
"""
