package guest

// compareTemplate adds the conversion to a template, which cannot be undone. A template never runs.
func (c *comparison) compareTemplate() {
	if !c.want.Template || c.live.Template || c.ignoresKey("template") {
		return
	}
	change := Change{
		Key: "template", From: "0", To: "1", Class: Disruptive, Write: WriteTemplate, Value: "1", Origin: c.want.Origin,
		Note: "becomes a template, which cannot be undone",
	}
	_, snapshots := c.live.Keys["parent"]
	switch {
	case edit{live: c.live}.running():
		change.Class, change.Note = Impossible, "it runs: stop it to convert it to a template"
	case snapshots:
		change.Class, change.Note = Impossible, "it has snapshots: a template cannot have any"
	}
	c.add(change)
}
