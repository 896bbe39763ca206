"""`namespace`: what is in a filesystem or an image, as a DataFrame and as a page.

`job` makes the frame, by `listing.tree` or by `image_tasks`, which read an image's sections;
`page` and `page` draw it (pure). The questions that are asked of a frame are in
`howdah.spark.namespace_reports`. Arrows: `job -> image_tasks`, `page -> treemap`.
"""
