"""Logs and images for people: text, XML and back, WebHDFS (oev and oiv in Hadoop; pure).

`edits` and `edit_xml` show logs; `lines`, `sizes`, `xml`, `web` and `check` images. `reverse`
makes an image of XML, of `elements` and `rows` of them.
Arrows: `viewers -> image, edits`; nothing imports a viewer but the command line.
"""
