package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// MissingAudit returns a path on which the token lacks VM.Audit, so that Proxmox leaves guests out of its lists, or "". A guest to which the
// access control list gives the token no access at all is not listed here either.
//
// Source: PVE API, GET /access/permissions.
func (r *Reader) MissingAudit(ctx context.Context) (string, error) {
	granted, err := r.Permissions(ctx)
	if err != nil {
		return "", err
	}
	if !granted.appliesBelow("/vms", "VM.Audit") {
		return "/vms", nil
	}
	var missing []string
	for path, privileges := range granted {
		if _, audit := privileges["VM.Audit"]; strings.HasPrefix(path, "/vms/") && !audit {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	return slices.Min(missing), nil
}

// appliesBelow reports whether a privilege applies to the objects below a path at the second level, such as /vms. The path replaces what it inherits,
// unless none of its privileges applies below it.
func (p Permissions) appliesBelow(path, privilege string) bool {
	own, listed := p[path]
	for _, propagates := range own {
		if propagates {
			return own[privilege]
		}
	}
	return listed && p["/"][privilege]
}

// storageRow is the configuration of a storage, by property.
type storageRow map[string]reply.Scalar

func (s storageRow) text(name string) string { return string(s[name]) }

// StorageConfigs lists the storages on which the token has Datastore.Audit or Datastore.AllocateSpace. Proxmox reports network storages as shared
// by itself.
//
// Source: PVE API, GET /storage; PVE::Storage::Plugin parse_config.
func (r *Reader) StorageConfigs(ctx context.Context) ([]cluster.Storage, error) {
	rows, err := get[[]storageRow](ctx, r, &wire.Exchange{Route: route.Storages, Path: "/storage"})
	if err != nil {
		return nil, fmt.Errorf("list storages: %w", err)
	}
	storages := make([]cluster.Storage, 0, len(rows))
	for _, row := range rows {
		if row.text("storage") == "" {
			return nil, fmt.Errorf("list storages: %w", errNoName)
		}
		storages = append(storages, cluster.Storage{
			ID: row.text("storage"), Shared: row["shared"].Flag(), Nodes: commaList(row.text("nodes")), Content: slices.Sorted(slices.Values(commaList(row.text("content")))),
			Disabled: row["disable"].Flag(), Backings: cluster.Backings(row.text("type"), row.text),
		})
	}
	slices.SortFunc(storages, func(a, b cluster.Storage) int { return cmp.Compare(a.ID, b.ID) })
	return storages, nil
}

// commaList returns the words of a list as Proxmox writes it: "a,b" or "a, b".
func commaList(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Replications lists the replication jobs of the guests on which the token has VM.Audit.
//
// Source: PVE API, GET /cluster/replication.
func (r *Reader) Replications(ctx context.Context) ([]cluster.Replication, error) {
	rows, err := get[[]struct {
		Guest  reply.Integer `json:"guest"`
		Target string        `json:"target"`
	}](ctx, r, &wire.Exchange{Route: route.Replication, Path: "/cluster/replication"})
	if err != nil {
		return nil, fmt.Errorf("list replication jobs: %w", err)
	}
	jobs := make([]cluster.Replication, 0, len(rows))
	for _, row := range rows {
		jobs = append(jobs, cluster.Replication{VMID: int(row.Guest), Target: row.Target})
	}
	return jobs, nil
}

// Snapshots reads the snapshot sections of a guest's configuration: one request for their names, and one for each section. Every reply has the
// digest of the whole configuration, so sections of different states are not mixed.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/snapshot and …/config?snapshot=.
func (r *Reader) Snapshots(ctx context.Context, row cluster.Row) (guest.Snapshots, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return guest.Snapshots{}, fmt.Errorf("read snapshots of %s: %w", about, err)
	}
	listed, err := get[[]struct {
		Name   string `json:"name"`
		Digest string `json:"digest"`
	}](ctx, r, &wire.Exchange{Route: route.Snapshots, Path: about.Path() + "/snapshot", Node: about.Node, About: about})
	if err != nil {
		return guest.Snapshots{}, fmt.Errorf("list snapshots of %s: %w", about, err)
	}
	found, current := guest.Snapshots{}, false
	for _, s := range listed {
		if s.Name == "current" {
			found.Digest, current = s.Digest, true
			continue
		}
		found.Sections = append(found.Sections, guest.SnapshotSection{Name: s.Name})
	}
	if !current || found.Digest == "" {
		return guest.Snapshots{}, fmt.Errorf("list snapshots of %s: %w", about, reply.ErrNoDigest)
	}
	for i := range found.Sections {
		keys, err := r.snapshotKeys(ctx, about, found.Sections[i].Name)
		switch {
		case err != nil:
			return guest.Snapshots{}, err
		case keys["digest"] != found.Digest:
			return guest.Snapshots{}, fmt.Errorf("read snapshots of %s: %w", about, cluster.ErrConflict)
		}
		delete(keys, "digest")
		found.Sections[i].Keys = keys
	}
	return found, nil
}

// snapshotKeys reads one snapshot section, with the digest of the whole configuration.
func (r *Reader) snapshotKeys(ctx context.Context, about route.Address, name string) (map[string]string, error) {
	path := about.Path() + "/config?snapshot=" + url.QueryEscape(name)
	keys, err := get[map[string]reply.Scalar](ctx, r, &wire.Exchange{Route: route.Config, Path: path, Node: about.Node, About: about})
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s of %s: %w", name, about, err)
	}
	texts := make(map[string]string, len(keys))
	for key, text := range keys {
		texts[key] = string(text)
	}
	return texts, nil
}

// Backups lists the backups of a guest on a storage as the node shows them, with the first line of their notes. It needs Datastore.Audit or
// Datastore.AllocateSpace on the storage and VM.Backup on the guest.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content; PVE::Storage check_volume_access.
func (r *Reader) Backups(ctx context.Context, node, storage string, vmid int) ([]cluster.Backup, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	path := "/nodes/" + node + "/storage/" + url.PathEscape(storage) + "/content?content=backup&vmid=" + strconv.Itoa(vmid)
	rows, err := get[[]struct {
		Volume string       `json:"volid"`
		Notes  reply.Scalar `json:"notes"`
	}](ctx, r, &wire.Exchange{Route: route.Content, Path: path, Node: node})
	if err != nil {
		return nil, fmt.Errorf("list backups of %d in %s on %s: %w", vmid, storage, node, err)
	}
	backups := make([]cluster.Backup, 0, len(rows))
	for _, row := range rows {
		backups = append(backups, cluster.Backup{Volume: row.Volume, Notes: string(row.Notes)})
	}
	return backups, nil
}

// StoredVolumes lists the disks on a storage as the node shows them: those of one vmid, or all if vmid is 0. It needs Datastore.Audit on the
// storage and VM.Config.Disk on the guests, and omits the other disks.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content; PVE::Storage check_volume_access.
func (r *Reader) StoredVolumes(ctx context.Context, node, storage string, vmid int) ([]cluster.StoredVolume, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	path := "/nodes/" + node + "/storage/" + url.PathEscape(storage) + "/content"
	if vmid != 0 {
		path += "?vmid=" + strconv.Itoa(vmid)
	}
	rows, err := get[[]struct {
		Volume  string       `json:"volid"`
		Content string       `json:"content"`
		VMID    reply.Scalar `json:"vmid"`
		Parent  reply.Scalar `json:"parent"`
	}](ctx, r, &wire.Exchange{Route: route.Content, Path: path, Node: node})
	if err != nil {
		return nil, fmt.Errorf("list volumes of %s on %s: %w", storage, node, err)
	}
	volumes := make([]cluster.StoredVolume, 0, len(rows))
	for _, row := range rows {
		if row.Content != "" && row.Content != "images" && row.Content != "rootdir" {
			continue
		}
		owner := 0
		if row.VMID != "" {
			if owner, err = row.VMID.Whole(); err != nil {
				return nil, fmt.Errorf("list volumes of %s on %s: vmid %w", storage, node, err)
			}
		}
		volumes = append(volumes, cluster.StoredVolume{ID: row.Volume, Owner: owner, Parent: string(row.Parent)})
	}
	return volumes, nil
}
