"""What a failover controller shows those who watch it. `status` is what is known of it and what
that means, `views` the page, the bean and the figures that are made of it (both pure); `pages`
answers requests (shell)."""
