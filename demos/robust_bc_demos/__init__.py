"""The teachers of robust-bc: experts, adversaries and drivers, collecting from them and mixing what they did."""
