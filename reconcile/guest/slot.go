package guest

import "strings"

// slot compares one drive slot with its intent.
type slot struct {
	*comparison
	in         *Intent
	row        *row
	properties wantedProperties // of the native sub-keys
	target     driveVolume
}

// newSlot reads an intent on a drive.
func (c *comparison) newSlot(in *Intent, r *row) slot {
	s := slot{comparison: c, in: in, row: r, properties: newWantedProperties(c.buffer[:0], in, r.syntax, c.ignoredKeys(), c.live.Version)}
	s.target = driveVolume{storage: s.properties.remove("storage"), volume: s.properties.remove("volume"), size: s.properties.remove("size")}
	if s.properties.exact {
		s.target.size = "" // in native text only Proxmox sets the size, and ignores any other value
	}
	if isTray(s.target.volume) && s.properties.pairs.text("media") == "" {
		s.properties.pairs = append(s.properties.pairs, pair{"media", "cdrom"})
	}
	return s
}

func (s *slot) addImpossible(from, to, why string) {
	s.add(Change{Key: s.in.Key, From: from, To: to, Class: Impossible, Note: why, Origin: s.in.Origin})
}

func (s *slot) running() bool { return edit{live: s.live}.running() }

func volumeText(have properties) string { return "volume=" + have.text("volume") }

// driveVolume is where the volume of a drive comes from: the pseudo sub-keys of an intent.
type driveVolume struct {
	storage string // to allocate from
	volume  string // to attach; "cloudinit" for a cloud-init drive on storage, "none" for an empty CD-ROM drive
	size    string // wanted size, "" is unmanaged
}

// String returns the sub-keys as text: "storage=local-lvm,size=32G".
func (p driveVolume) String() string {
	var parts []string
	for _, part := range []pair{{"storage", p.storage}, {"volume", p.volume}, {"size", p.size}} {
		if part.text != "" {
			parts = append(parts, part.name+"="+part.text)
		}
	}
	return strings.Join(parts, ",")
}
