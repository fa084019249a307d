package kind

import (
	"context"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// Keys of the configuration of a storage, in canonical texts.
const (
	storageType   = "type"
	storageMount  = "mount"  // where nodes see it, a clean path
	storageFolder = "folder" // of the backups, below the mount
	storageRemote = "remote" // what is mounted, without the server
	storageProof  = "proof"  // of the server's identity
)

// ReadStorages reads the configurations of the storages that the token may see, as objects of cluster.Storages. They say where the backups of a storage are.
//
// Source: PVE API, GET /storage; PVE::Storage::Plugin and its plugins, properties; get_subdir.
func ReadStorages(ctx context.Context, get Get) ([]cluster.Object, error) {
	rows, err := ReadRows(ctx, get, "/storage", "/storage")
	if err != nil {
		return nil, err
	}
	list := make([]cluster.Object, 0, len(rows))
	for _, row := range rows {
		folder := row.Options("content-dirs")["backup"]
		for part := range strings.SplitSeq(row.Text("content-dirs"), ",") {
			if text, is := strings.CutPrefix(strings.TrimSpace(part), "backup="); is {
				folder = text
			}
		}
		if folder == "" {
			folder = "dump"
		}
		keys := map[string]string{storageType: row.Text("type"), storageFolder: path.Clean("/" + folder)}
		if mount := row.Text("path"); mount != "" {
			keys[storageMount] = path.Clean("/" + mount)
		}
		if remote := cluster.Remote(keys[storageType], row.Text); remote != "" {
			keys[storageRemote] = remote
		}
		if keys[storageType] == ofBackup {
			keys[storageProof] = strings.ToLower(row.Text("fingerprint"))
		}
		list = append(list, cluster.Object{ID: row.Text("storage"), Keys: keys})
	}
	return list, nil
}

// Apart reports whether the backups on two storages are certainly in two places, so that none of them is pruned with those of the other. One server may have several names, addresses and
// ports, so servers tell nothing apart, and neither does a storage of a type that is not known or that the token may not see.
func Apart(storages cluster.Objects, a, b string) bool {
	from, known := storages.ByID[a]
	to, alsoKnown := storages.ByID[b]
	if storages.Err != "" || !known || !alsoKnown {
		return false
	}
	one, two := placesOf(storages, from), placesOf(storages, to)
	if len(one) == 0 || len(two) == 0 {
		return false
	}
	for _, p := range one {
		if slices.ContainsFunc(two, p.mayBe) {
			return false
		}
	}
	return true
}

// place is a folder of backups, as the nodes see it or as a server has it.
type place struct{ of, folder, proof string }

// The systems of folders: of the nodes, of Proxmox Backup Server, and of storages that take no backups. The others are types of network file systems.
const (
	ofNodes  = "nodes"
	ofBackup = "pbs"
	ofNone   = "none"
)

// placesOf returns all places in which the backups on a storage are known to be, none if none is. What is below the mount of a network storage is on its server.
func placesOf(storages cluster.Objects, o cluster.Object) []place {
	switch o.Keys[storageType] {
	case ofBackup:
		return []place{{ofBackup, o.Keys[storageRemote], o.Keys[storageProof]}}
	case "lvm", "lvmthin", "zfspool", "zfs", "rbd", "iscsi", "iscsidirect", "esxi":
		return []place{{ofNone, o.ID, ""}}
	case "dir", "btrfs", "nfs", "cifs", "cephfs", "glusterfs":
	default:
		return nil
	}
	var list []place
	if remote := o.Keys[storageRemote]; remote != "" {
		list = append(list, place{o.Keys[storageType], path.Join(remote, o.Keys[storageFolder]), ""})
	}
	mount := o.Keys[storageMount]
	if mount == "" {
		return list
	}
	folder := path.Join(mount, o.Keys[storageFolder])
	list = append(list, place{ofNodes, folder, ""})
	for _, other := range storages.ByID {
		top, remote := other.Keys[storageMount], other.Keys[storageRemote]
		if rest, isBelow := strings.CutPrefix(folder+"/", top+"/"); isBelow && top != "" && remote != "" && other.ID != o.ID {
			list = append(list, place{other.Keys[storageType], path.Join(remote, rest), ""})
		}
	}
	return list
}

// mayBe reports whether two places may be one. An NFS server may export a folder under two paths of which one ends as the other, and a folder by several protocols.
func (p place) mayBe(other place) bool {
	isOfServer := func(p place) bool { return p.of != ofNodes && p.of != ofBackup && p.of != ofNone }
	switch {
	case p.of != other.of:
		return isOfServer(p) && isOfServer(other)
	case p.proof != "" && other.proof != "" && p.proof != other.proof:
		return false
	case p.of == "nfs":
		return strings.HasSuffix(p.folder, other.folder) || strings.HasSuffix(other.folder, p.folder)
	case p.of == "cifs":
		return strings.EqualFold(p.folder, other.folder)
	}
	return p.folder == other.folder
}
