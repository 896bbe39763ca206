"""Who comes in at a web port, at what pace, and what a head may look like.

`arrivals` accepts and waits for first bytes; `pace` and `company` say for how long somebody has to
wait, and `heads` looks at the bytes of a head before a parser does. The last three are pure.
"""
