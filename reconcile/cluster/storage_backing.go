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
		backings = append(backings, "nfs "+server+" "+Remote(of, property))
	case "cifs":
		backings = append(backings, "cifs "+server+" "+Remote(of, property))
	case "glusterfs":
		backings = append(backings, "glusterfs "+server+" "+Remote(of, property))
	case "rbd":
		backings = append(backings, "rbd "+with("monhost", "pool", "namespace"))
	case "cephfs":
		backings = append(backings, "cephfs "+with("monhost", "fs-name")+" "+Remote(of, property))
	case "pbs":
		backings = append(backings, "pbs "+server+" "+cmp.Or(property("port"), "8007")+" "+Remote(of, property))
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

// Remote returns what a storage of a type mounts or uses of a server, as a clean path without the server: an export, share, volume or datastore, and what is chosen of it. It is "" for other
// types.
func Remote(of string, property func(name string) string) string {
	switch of {
	case "nfs":
		return path.Clean("/" + property("export") + "/" + property("subdir"))
	case "cifs":
		return strings.ToLower(path.Clean("/" + property("share") + "/" + property("subdir")))
	case "cephfs":
		return path.Clean("/" + property("subdir")) // without fs-name, it is that of the cluster's default
	case "glusterfs":
		return path.Clean("/" + property("volume"))
	case "pbs":
		return path.Clean("/" + property("datastore") + "/" + property("namespace"))
	}
	return ""
}
