"""The edit log on disk: what an edit is, its bytes, and the files it is in.

`edits` are the records (FSEditLogOp in Hadoop), `codec` and `field_codecs` their bytes;
`segment_scan` finds what is in a file of them, and where its good part ends.
Arrows: `segment_scan -> codec -> field_codecs -> edits`.
"""
