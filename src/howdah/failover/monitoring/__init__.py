"""What a failover controller shows those who watch it. `facts` is what is known of it and what
that means, `shown` the page, the bean and the figures that are made of it (both pure); `pages`
answers requests (shell)."""
