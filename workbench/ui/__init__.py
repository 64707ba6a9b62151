"""The terminal face: a fold over the event stream, drawn with Textual."""
