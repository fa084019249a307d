package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// parts returns the sub-keys of an intent for a property string.
func (in *Intent) parts(s *syntax) properties {
	if s == nil || in.Verb != Want {
		return nil
	}
	if in.Sub == nil {
		return s.parse(nil, in.Text)
	}
	var parts properties
	for name, text := range in.Sub {
		parts = append(parts, pair{s.resolve(name), text})
	}
	return parts
}

// intent adds the privileges to write a key.
func (n *needs) intent(in *Intent) {
	r, known := find(n.d.Kind, in.Key)
	switch {
	case !known || r.effect == never:
		return // nothing writes it
	case n.isRoots(in, r):
		n.add("/", RootPAM, in.Key, in.Origin)
		if n.isPartlyAllowed(in, r) {
			n.row(r, in.Key, in.Origin)
		}
	case r.effect == atCreate:
		n.atCreation(in)
	case r.drive && in.Verb == Want:
		n.drive(in, r)
	default:
		n.row(r, in.Key, in.Origin)
		n.uses(in, r)
	}
}

// row adds the privileges of a row: "VM.Config.Options, Sys.Modify on /" is two privileges.
func (n *needs) row(r *row, key string, origin Origin) {
	for part := range strings.SplitSeq(r.privilege, ", ") {
		privilege, path, elsewhere := strings.Cut(part, " on ")
		switch {
		case privilege == "":
		case elsewhere:
			n.add(path, privilege, key, origin)
		default:
			n.onGuest(privilege, key, origin)
		}
	}
	if r.privilege == configCloudInit {
		n.list[len(n.list)-1].Or = configNetwork
	}
}

// isRoots reports whether only root@pam may write the key, or this value of the key, or a part of it.
func (n *needs) isRoots(in *Intent, r *row) bool {
	return r.rootOnly || slices.ContainsFunc(n.creation(in), func(c Change) bool { return c.RootOnly })
}

// isPartlyAllowed reports whether a token may write a part of the value of a key.
func (n *needs) isPartlyAllowed(in *Intent, r *row) bool {
	return r.blocks != nil && r.blocks.part != nil && slices.ContainsFunc(n.creation(in), func(c Change) bool { return !c.RootOnly })
}

// creation returns the changes that set the key of a new guest.
func (n *needs) creation(in *Intent) []Change {
	want := Desired{Ref: n.d.Ref, Intents: []Intent{*in}}
	return (&comparison{want: &want, live: beforeCreation(*n.d), creating: true}).run()
}

// atCreation adds the privileges for a key that is only used to create a container.
func (n *needs) atCreation(in *Intent) {
	if in.Key == "unprivileged" && in.Verb == Want && form.Truth(in.Text) == "0" && n.d.Source != (Source{}) {
		n.add("/", "Sys.Modify", in.Key, in.Origin)
	}
}

// uses adds the privileges on the bridge or the mapping that a device uses.
func (n *needs) uses(in *Intent, r *row) {
	parts := in.parts(r.syntax)
	use := func(path, name string) {
		if name != "" {
			n.add(path+name, "Mapping.Use", in.Key, in.Origin)
		}
	}
	switch r.key {
	case "net":
		if bridge := parts.text("bridge"); bridge != "" {
			path := "/sdn/zones/localnetwork/" + bridge
			if tag := parts.text("tag"); tag != "" && parts.text("trunks") == "" {
				path += "/" + tag
			}
			n.add(path, "SDN.Use", in.Key, in.Origin)
		}
	case "usb":
		use("/mapping/usb/", parts.text("mapping"))
	case "hostpci":
		use("/mapping/pci/", parts.text("mapping"))
	case "virtiofs":
		use("/mapping/dir/", parts.text("dirid"))
	case "rng0":
		if parts.text("source") == "/dev/hwrng" {
			use("/mapping/", "hwrng")
		}
	}
}

// drive adds the privileges for a drive: on its storage for a disk or a mount point, on its image for a CD-ROM drive.
func (n *needs) drive(in *Intent, r *row) {
	parts := in.parts(r.syntax)
	volume, storage := parts.text("volume"), parts.text("storage")
	switch {
	case volume == cloudInitVolume || isCloudInit(volume):
		n.onGuest(configCloudInit, in.Key, in.Origin)
		n.onGuest("VM.Config.CDROM", in.Key, in.Origin)
	case parts.text("media") == "cdrom" || isTray(volume):
		n.onGuest("VM.Config.CDROM", in.Key, in.Origin)
		n.readable(volume, in.Key, in.Origin)
		if volume == hostDrive {
			n.add("/", "Sys.Console", in.Key, in.Origin)
		}
	default:
		n.row(r, in.Key, in.Origin)
		n.allocates(storage, in.Key, in.Origin)
	}
}
