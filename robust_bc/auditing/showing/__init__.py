"""What a person sees of an audit: sentences, tables, windows and the page."""
