"""The edit log on disk: what an edit is, its bytes, and the files it is in.

`edits` and `cache_edits` are the records (FSEditLogOp in Hadoop): each class tells its bytes and
its XML. `field_codecs` are the kinds of values, `codec` packs and reads whole records;
`segment_scan` finds what is in a file of them, and where its good part ends.
Arrows: `segment_scan -> codec -> packing, edits -> base -> field_codecs -> values`.
"""
