package guest

// Places are where a manifest, a class or the defaults set fields that are no native keys. A zero Origin is that of a default.
type Places struct{ Node, Pool, Source Origin }

// PlaceOf returns where the guest has a field or a native key, the place of its document if nothing sets it.
func (d *Desired) PlaceOf(key string) Origin {
	var at Origin
	switch key {
	case "node":
		at = d.Places.Node
	case "pool":
		at = d.Places.Pool
	case "source":
		at = d.Places.Source
	default:
		for i := range d.Intents {
			if d.Intents[i].Key == key {
				at = d.Intents[i].Origin
			}
		}
	}
	if at == (Origin{}) {
		return d.Origin
	}
	return at
}
