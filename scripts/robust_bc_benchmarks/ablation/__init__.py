"""What each part of ChoiceNet is worth."""
