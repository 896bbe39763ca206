"""The edit log on disk: what an edit is, its bytes, and the files it is in.

`edits` are the records (FSEditLogOp in Hadoop), `codec` and `field_codecs` their bytes, `segments`
the files, `segment_scan` what is in one and where its good part ends.
Arrows: `segments -> segment_scan -> codec -> parts -> edits`.
"""
