package manifest

// classSpec contains what guests have in common, by kind. A class may build on other classes.
type classSpec struct {
	class   textList
	selects opt[selector]
	defaults
}

func (c *classSpec) fields() []field {
	return append([]field{
		{"class", "", "GuestClasses that this one builds on, later ones over earlier ones.", withExamples(list(&c.class, className, ""), `["debian"]`)},
		{"select", "", "Guests in and below the folder of the class to which the class applies without being named. Classes that a guest names come after it. All conditions must match.", withExamples(child(&c.selects), `{"paths": ["web/**"]}`, `{"labels": {"tier": "web"}}`)},
	}, c.defaults.fields()...)
}
