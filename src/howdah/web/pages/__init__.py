"""What people see in a browser: a page for each question that an operator has.

`html` escapes, `layout` frames, `units` says numbers; `health` judges whether the data is safe,
and a module for each page puts plain values into markup (all pure). `common` answers what every
server has: `assets` from `static`, `/logs`, `/logLevel`, `/stacks` and `/conf` (shells).

A page is whole without JavaScript. With it, the parts that change are fetched again every few
seconds. Nothing is loaded from elsewhere, and no script or style stands in a page itself: the
Content-Security-Policy forbids both, so what a hostile name smuggled in would not run.
"""
