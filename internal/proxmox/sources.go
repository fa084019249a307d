package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// VolumeSize returns the bytes that a guest sees of a volume, also of a compressed or sparse disk image. It needs Datastore.Audit or Datastore.AllocateSpace on the storage.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content/{volume}; recording 62.
func (r *Reader) VolumeSize(ctx context.Context, node, volume string) (int64, error) {
	if err := route.CheckNode(node); err != nil {
		return 0, err
	}
	storage, _, _ := strings.Cut(volume, ":")
	info, err := get[struct {
		Size reply.Integer `json:"size"`
	}](ctx, r, &wire.Exchange{Route: route.Volume, Path: "/nodes/" + node + "/storage/" + url.PathEscape(storage) + "/content/" + url.PathEscape(volume), Node: node})
	if err != nil {
		return 0, fmt.Errorf("read volume %s on %s: %w", volume, node, err)
	}
	return int64(info.Size), nil
}

// ArchivedKeys returns the native keys of the guest in a backup, without its description. It needs Datastore.AllocateSpace on the storage, and VM.Backup on the guest that was backed up.
//
// Source: PVE API, GET /nodes/{node}/vzdump/extractconfig. The reply is the file in one text, with the description and what vzdump adds in lines that begin with "#".
func (r *Reader) ArchivedKeys(ctx context.Context, node, volume string) (map[string]guest.Value, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	x := &wire.Exchange{Route: route.Backup, Path: "/nodes/" + node + "/vzdump/extractconfig?volume=" + url.QueryEscape(volume), Node: node, MaxReply: reply.MaxPending}
	text, err := get[string](ctx, r, x)
	if err != nil {
		return nil, fmt.Errorf("read configuration in %s on %s: %w", volume, node, err)
	}
	keys := make(map[string]guest.Value)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			break // a snapshot
		}
		if key, value, isKey := strings.Cut(strings.TrimSpace(line), ": "); isKey && !strings.HasPrefix(key, "#") {
			keys[key] = guest.Value{Text: value, Set: true}
		}
	}
	return keys, nil
}

// KeysOf returns the native keys of a guest, or of one of its snapshots. It needs VM.Audit on the guest.
func (r *Reader) KeysOf(ctx context.Context, row cluster.Row, snapshot string) (map[string]guest.Value, error) {
	if snapshot == "" {
		live, err := r.Observe(ctx, row)
		return live.Keys, err
	}
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return nil, fmt.Errorf("read snapshot of %s: %w", about, err)
	}
	texts, err := r.snapshotKeys(ctx, about, snapshot)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]guest.Value, len(texts))
	for key, text := range texts {
		keys[key] = guest.Value{Text: text, Set: true}
	}
	return keys, nil
}
