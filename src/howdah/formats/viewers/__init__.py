"""Logs and images for people: text, XML and back, WebHDFS (oev and oiv in Hadoop; pure).

`edits` and `edit_xml` show logs; `image_lines`, `sizes`, `xml`, `web` and `check` images.
`xml_to_image` makes an image of XML, of `image_xml` and `rows` of them.
Arrows: `viewers -> image, edits`; nothing imports a viewer but the command line.
"""
