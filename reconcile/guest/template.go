package guest

// compareTemplate adds the conversion to a template. There is no way back, and a template never runs.
func (c *comparison) compareTemplate() {
	if !c.want.Template || c.live.Template || c.ignoresKey("template") {
		return
	}
	change := Change{
		Key: "template", From: "0", To: "1", Class: Disruptive, Write: WriteTemplate, Value: "1", Origin: c.want.Origin,
		Note: "becomes a template for good",
	}
	_, snapshots := c.live.Keys["parent"]
	switch {
	case edit{live: c.live}.running():
		change.Class, change.Note = Impossible, "it runs: stop it to make a template of it"
	case snapshots:
		change.Class, change.Note = Impossible, "it has snapshots: a template must not have any"
	}
	c.add(change)
}
