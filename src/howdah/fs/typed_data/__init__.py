"""Typed reads and writes of streams, as java.io.DataInput and DataOutput have them.

`codec` has the formats (pure), `input` and `output` are mixed into the streams. The room
knows no filesystem and no stream. Arrows: `streams -> input, output -> codec`.
"""
