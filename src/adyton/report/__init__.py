"""What people see of a release: a page that opens anywhere, a picture, and what a notebook shows."""
