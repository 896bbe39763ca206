"""Images while the namenode runs, its own and a secondary's.

`checkpoint` forks a child that writes one; `image_server` sends and takes images and
segments; `primary` and `directories` are the namenode and the directories as a secondary
has them. Arrows: `checkpoints -> images, log`; `primary -> protocols`.
"""
