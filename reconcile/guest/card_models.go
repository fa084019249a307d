package guest

import "slices"

var cardModels = []string{
	"virtio", "e1000", "e1000e", "rtl8139", "vmxnet3", "e1000-82540em", "e1000-82544gc", "e1000-82545em",
	"i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet",
}

// isCardModel is called for every sub-key of every card, so it first checks the most frequent names.
func isCardModel(name string) bool {
	switch name {
	case "virtio":
		return true
	case "bridge", "firewall", "tag", "macaddr", "model":
		return false
	}
	return slices.Contains(cardModels, name)
}
