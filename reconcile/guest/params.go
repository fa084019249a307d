package guest

// nameKey returns the native key of a guest's name.
func nameKey(kind Kind) string {
	if kind == Container {
		return "hostname"
	}
	return "name"
}

func setUnlessEmpty(params map[string]string, key, value string) {
	if value != "" {
		params[key] = value
	}
}
