"""Networks with a leading member axis: one forward pass serves a whole fleet."""
