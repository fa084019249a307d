package cluster

import (
	"cmp"
	"path"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Storages is the name under which the configurations of storages are read, as objects that no manifest describes. Package kind says what they mean.
const Storages guest.Kind = "Storage"

// Backings returns what is behind a storage of a type, none for a type that is not known. Storages that have a text in common have the same volumes: two on one volume group,
// also of different types, or a folder and the share that is mounted there. Property returns a property of the storage, "" for one that it does not have.
//
// Source: PVE::Storage::Plugin and its plugins, properties.
func Backings(of string, property func(name string) string) []string {
	with := func(names ...string) string {
		texts := make([]string, 0, len(names))
		for _, name := range names {
			texts = append(texts, property(name))
		}
		return strings.Join(texts, " ")
	}
	server := strings.ToLower(strings.TrimSuffix(property("server"), "."))
	var backings []string
	switch of {
	case "lvm", "lvmthin":
		backings = append(backings, "vg "+with("vgname"))
	case "zfspool":
		backings = append(backings, "zfs "+with("pool"))
	case "nfs":
		backings = append(backings, "nfs "+server+" "+path.Clean("/"+property("export")+"/"+property("subdir")))
	case "cifs":
		backings = append(backings, "cifs "+server+" "+strings.ToLower(path.Clean("/"+property("share")+"/"+property("subdir"))))
	case "glusterfs":
		backings = append(backings, "glusterfs "+server+" "+property("volume"))
	case "rbd":
		backings = append(backings, "rbd "+with("monhost", "pool", "namespace"))
	case "cephfs":
		backings = append(backings, "cephfs "+with("monhost", "fs-name")+" "+path.Clean("/"+property("subdir")))
	case "pbs":
		backings = append(backings, "pbs "+server+" "+cmp.Or(property("port"), "8007")+" "+with("datastore", "namespace"))
	}
	if folder := property("path"); folder != "" {
		backings = append(backings, "path "+path.Clean(folder))
	}
	return backings
}

// SameStorages returns the first storage with the same volumes, by the id of each storage of which it is known what is behind it.
func SameStorages(storages []Storage) map[string]string {
	same, owner := make(map[string]string), make(map[string]string) // the owner of a backing
	for _, s := range storages {
		for _, backing := range s.Backings {
			first, now := owner[backing], same[s.ID]
			switch {
			case first == "" && now == "":
				same[s.ID] = s.ID
			case now == "":
				same[s.ID] = first
			case first != "" && first != now: // both groups have the storage
				for id, of := range same {
					if of == first || of == now {
						same[id] = min(first, now)
					}
				}
				for text, of := range owner {
					if of == first || of == now {
						owner[text] = min(first, now)
					}
				}
			}
			owner[backing] = same[s.ID]
		}
	}
	return same
}
