"""Tables, figures and pages out of results."""
