package manifest

// classSpec contains what guests have in common, by kind. A class may build on other classes.
type classSpec struct {
	class   textList
	selects opt[selector]
	rollout opt[rolloutSpec]
	defaults
}

func (c *classSpec) fields() []field {
	return append([]field{
		{"class", "", "GuestClasses that this one builds on, later ones over earlier ones.", withExamples(list(&c.class, className, ""), `["debian"]`)},
		{"select", "", "Guests in and below the folder of the class to which the class applies without being named. Classes that a guest names come after it. All conditions must match.", withExamples(child(&c.selects), `{"paths": ["web/**"]}`, `{"labels": {"tier": "web"}}`)},
		{"rollout", "", "How a change reaches the guests of the class: a few at a time. The rollout has the name of the class. Of several classes of a guest, the last one that has a rollout counts.", withExamples(child(&c.rollout), `{"canary": 1, "maxUnavailable": "10%", "pause": "10m"}`)},
	}, c.defaults.fields()...)
}
