"""What people see of a namenode in a browser. `pages` answers, `page_data` collects in slices on
the loop what they show. Knows nothing of the process around it."""
