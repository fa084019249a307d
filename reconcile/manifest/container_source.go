package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
)

func (c *container) source(l *lowering) guest.Source {
	s := &c.from
	onlyOne(l, s.clone.place, s.template.place, s.backup.place)
	switch {
	case s.clone.set:
		return guest.Source{Clone: s.clone.value.source(l, s.clone.place)}
	case s.template.set:
		c.checkNew(l, s.template)
		t := s.template.value
		volume, object := l.file(s.template.place, t.volume, t.image, "volume", image.Template)
		return guest.Source{Template: &guest.Template{Volume: volume, Object: object}}
	case s.backup.set:
		c.needNode(l, s.backup.place)
		if !s.backup.value.storage.set && !c.rootfs.storage.set {
			l.missing(s.backup.place, "got no storage for the volumes, want source.backup.storage or rootfs.storage", "Proxmox does not restore a container's volumes to their original storage")
		}
		return guest.Source{Backup: s.backup.value.source(l, s.backup.place)}
	default:
		return guest.Source{}
	}
}

func (c *container) checkNew(l *lowering, t opt[template]) {
	c.needNode(l, t.place)
	if !c.rootfs.storage.set || !c.rootfs.size.set {
		l.missing(t.place, "got no rootfs.storage and rootfs.size, want both for a new container", "")
	}
	for _, n := range c.networks {
		c.needBridge(l, n.place, n.value.link)
	}
	for _, m := range c.mounts {
		if !m.value.volume.set && !m.value.removed() && (!m.value.storage.set || !m.value.size.set) {
			l.missing(m.place, "got no storage and size, want both for a new mount point", "")
		}
	}
}
