"""A sound configuration for so many machines (`howdah init`).

`plan` is pure: from what is wished to the files, as text. `writing` looks up hosts and puts the
files on the disk. What comes out is what `howdah doctor` finds nothing wrong with.
"""
