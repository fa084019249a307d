package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

// Guest describes a guest that AddVM, AddCT or AddTemplate adds.
type Guest struct {
	VMID    int    // 0 means the lowest free id
	Node    string // "" means the first node
	Config  string // lines of "key: value" as in the config file
	Running bool
}

// AddVM adds a VM to the cluster without a call. It generates the values that every VM has and that Config lacks (boot order, creation data,
// SMBIOS uuid, generation id, MAC addresses). It creates the volumes that the drives name, with the size that they state or 1 GiB. It
// returns the vmid. It returns an error if the vmid is taken or a value of Config is invalid.
func (s *Sim) AddVM(g Guest) (int, error) { return s.addGuest(QEMU, g) }

// AddCT adds a container to the cluster, as AddVM adds a VM.
func (s *Sim) AddCT(g Guest) (int, error) { return s.addGuest(LXC, g) }

// AddTemplate adds a VM template to the cluster. Its volumes have the names of base images.
func (s *Sim) AddTemplate(g Guest) (int, error) {
	id, err := s.addGuest(QEMU, g)
	if err != nil {
		return 0, err
	}
	return id, s.locked(func() error {
		err := s.makeTemplate(s.guests[id])
		delete(s.counts.effects, id)
		return err
	})
}

// AddVolume adds an ISO image, a container template, an import image or a disk to a storage. size is in bytes. It returns an error for an
// unknown storage and for a name that the storage cannot hold.
func (s *Sim) AddVolume(id string, size int64) error {
	return s.locked(func() error {
		st, name, _ := strings.Cut(id, ":")
		sto := s.storage(st)
		if sto == nil {
			return fmt.Errorf("add volume %s: the storage does not exist", id)
		}
		v, err := sto.volumeFromName(name)
		if err != nil {
			return fmt.Errorf("add volume %s: %w", id, err)
		}
		v.Size = size
		s.add(v)
		return nil
	})
}

// SetPoolComment changes the comment of a pool, as another client does. It makes the pool if there is none.
func (s *Sim) SetPoolComment(id, comment string) {
	_ = s.locked(func() error {
		if s.pools[id] == nil {
			s.pools[id] = &pool{id: id}
		}
		s.pools[id].comment = storedComment(comment)
		return nil
	})
}

// AddPool adds a pool with the given comment and members.
func (s *Sim) AddPool(id, comment string, vmids ...int) {
	_ = s.locked(func() error {
		s.pools[id] = &pool{id: id, comment: storedComment(comment), vms: vmids}
		return nil
	})
}

func (s *Sim) addGuest(kind Kind, g Guest) (vmid int, err error) {
	err = s.locked(func() error {
		vmid, err = s.addGuestLocked(kind, g)
		return err
	})
	return vmid, err
}

// addGuestLocked creates the guest. The state is locked.
func (s *Sim) addGuestLocked(kind Kind, g Guest) (int, error) {
	if g.VMID == 0 {
		g.VMID = s.freeID(100)
	}
	if g.Node == "" {
		g.Node = s.opts.Nodes[0]
	}
	if s.guests[g.VMID] != nil {
		return 0, fmt.Errorf("add guest %d: the vmid is taken", g.VMID)
	}
	n := newGuest(g.VMID, kind, g.Node)
	conf := configtext.Parse(kind, g.Config)
	if err := s.completeConfig(kind, g.VMID, conf.Values); err != nil {
		return 0, fmt.Errorf("add guest %d: %w", g.VMID, err)
	}
	n.write(conf)
	s.guests[g.VMID] = n
	if g.Running {
		s.nextPID++
		n.running, n.startedAt, n.processSince, n.pid = true, time.Now(), time.Now(), s.nextPID
		n.drive = s.cloudInitImage(n)
		n.seed = n.drive
	}
	return g.VMID, nil
}

// completeConfig adds what a config lacks: volumes, network devices, identities.
func (s *Sim) completeConfig(kind Kind, vmid int, v values) error {
	if kind == LXC && v["rootfs"] == "" {
		v["rootfs"] = s.storages[0].ID + ":4"
	}
	for _, slot := range diskSlots(kind, v) {
		d, err := parseDisk(kind, slot, v[slot])
		if err != nil {
			return err
		}
		if d, err = s.completeDisk(vmid, d); err != nil {
			return err
		}
		v[slot] = d.text()
	}
	for _, k := range slotsOf(v, isNet) {
		normalize := s.normalizeNet
		if kind == LXC {
			normalize = s.normalizeLXCNet
		}
		n, err := normalize(k, v[k])
		if err != nil {
			return err
		}
		v[k] = n
	}
	if kind == QEMU {
		meta := v["meta"]
		s.addIdentities(v)
		if meta != "" {
			v["meta"] = meta
		}
		return nil
	}
	for k, def := range map[string]string{"hostname": "CT" + itoa(vmid), "memory": "512", "swap": "512", "arch": "amd64", "ostype": "debian"} {
		if v[k] == "" {
			v[k] = def
		}
	}
	if root := s.rootVolume(v); root != nil && v["ostype"] != "unmanaged" {
		root.OS = v["ostype"]
	}
	return nil
}

// completeDisk allocates a disk of a guest that is added without the API. An image that it is made of is on every node.
func (s *Sim) completeDisk(vmid int, d drive) (drive, error) {
	if !d.ownsVolume() || s.volume(d.file()) != nil {
		var made []string
		return s.allocate("", vmid, d, func(string, ...any) {}, &made)
	}
	if d.wantsCloudInit() {
		var made []string
		return s.allocate("", vmid, d, func(string, ...any) {}, &made)
	}
	st := s.storage(d.storageOf())
	if st == nil {
		return d, apiErrorf("storage '%s' does not exist", d.storageOf())
	}
	v, err := st.volumeFromName(baseName(d.file()))
	if err != nil {
		return d, err
	}
	v.Size = gib
	if n, ok := parseSize(d.values["size"]); ok {
		v.Size = n
	}
	s.add(v)
	return d.with(v.ID, v.Size), nil
}

// generate adds n guests that depend on the seed, from vmid 1000 on without those from 9000 to 9999, which are left to templates. Every fourth is a container, and every second runs.
func (s *Sim) generate(n int) error {
	return s.locked(func() error {
		for i := range n {
			kind, g := s.generatedGuest(i)
			if _, err := s.addGuestLocked(kind, g); err != nil {
				return err
			}
		}
		return nil
	})
}

// generatedGuest describes the i-th generated guest.
func (s *Sim) generatedGuest(i int) (Kind, Guest) {
	sizes := []string{"512", "1024", "2048", "4096", "8192"}
	roles := []string{"web", "db", "cache", "build", "mail"}
	role, mem, cores := roles[s.rng.IntN(len(roles))], sizes[s.rng.IntN(len(sizes))], itoa(1+s.rng.IntN(4))
	st := s.storages[min(1, len(s.storages)-1)].ID
	name := role + "-" + itoa(i)
	vmid := 1000 + i
	if vmid >= 9000 {
		vmid += 1000
	}
	g := Guest{VMID: vmid, Node: s.opts.Nodes[i%len(s.opts.Nodes)], Running: i%2 == 0}
	if i%4 == 3 {
		g.Config = "hostname: " + name + "\nmemory: " + mem + "\ncores: " + cores + "\nunprivileged: 1\nonboot: 1\ntags: " + role +
			"\nrootfs: " + st + ":8\nnet0: name=eth0,bridge=vmbr0,ip=dhcp\n"
		return LXC, g
	}
	g.Config = "#" + name + "\nname: " + name + "\nmemory: " + mem + "\ncores: " + cores +
		"\nostype: l26\nscsihw: virtio-scsi-single\nagent: 1\nonboot: 1\ntags: " + role + ";prod\ncpu: x86-64-v2-AES\nscsi0: " + st +
		":32,discard=on,iothread=1\nide2: " + st + ":cloudinit\nciuser: ops\nipconfig0: ip=dhcp\nnet0: virtio,bridge=vmbr0,firewall=1\n"
	return QEMU, g
}

// SetBackupJob makes or replaces a backup job with the given keys, as a person would. The paths of exclude-path are separated by line feeds.
func (s *Sim) SetBackupJob(id string, keys map[string]string) {
	_ = s.locked(func() error {
		v := withoutEmpty(maps.Clone(keys))
		if j := s.backupJob(id); j != nil {
			j.values = v
			return nil
		}
		s.backupJobs = append(s.backupJobs, &backupJob{id, v})
		return nil
	})
}

// RemoveBackupJob removes a backup job, as a person would.
func (s *Sim) RemoveBackupJob(id string) {
	_ = s.locked(func() error {
		s.backupJobs = slices.DeleteFunc(s.backupJobs, func(j *backupJob) bool { return j.id == id })
		return nil
	})
}

// ManageByHA adds a guest to the HA manager, as a person would. The manager has already read the entry, and does not act on it. It returns an error if the guest does not exist.
func (s *Sim) ManageByHA(vmid int) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("add guest %d to the HA manager: the guest does not exist", vmid)
		}
		s.ha[vmid] = &haResource{vmid: vmid, kind: g.kind, state: "ignored", extra: values{}}
		s.scheduleHA()
		return nil
	})
}

// SetHARule makes or replaces a rule of the HA manager with the given keys, as a person who edits the file would. It does not check the rule.
func (s *Sim) SetHARule(name string, keys map[string]string) {
	_ = s.locked(func() error {
		v := withoutEmpty(maps.Clone(keys))
		if r := s.haRule(name); r != nil {
			r.values = v
			return nil
		}
		s.haRules = append(s.haRules, &haRule{name, v})
		return nil
	})
}

// RemoveHARule removes a rule of the HA manager, as a person would.
func (s *Sim) RemoveHARule(name string) {
	_ = s.locked(func() error {
		s.haRules = slices.DeleteFunc(s.haRules, func(r *haRule) bool { return r.name == name })
		return nil
	})
}

// SetHAGroup makes or replaces a group of the HA manager of release 8 with the given keys, as a person who edits the file would. It does not check the group.
func (s *Sim) SetHAGroup(name string, keys map[string]string) {
	_ = s.locked(func() error {
		s.haGroups[name] = withoutEmpty(maps.Clone(keys))
		return nil
	})
}

// SetGroupOfResource gives a managed guest a group of the HA manager, or none, as a person would.
func (s *Sim) SetGroupOfResource(vmid int, group string) {
	_ = s.locked(func() error {
		delete(s.ha[vmid].extra, "group")
		if group != "" {
			s.ha[vmid].extra["group"] = group
		}
		return nil
	})
}

// RemoveHAGroup removes a group of the HA manager and takes its guests out of it, as a person would.
func (s *Sim) RemoveHAGroup(name string) {
	_ = s.locked(func() error {
		for _, h := range s.ha {
			if h.extra["group"] == name {
				delete(h.extra, "group")
			}
		}
		delete(s.haGroups, name)
		return nil
	})
}

// RemovePool removes a pool, as a person would. Its members stay.
func (s *Sim) RemovePool(id string) {
	_ = s.locked(func() error {
		delete(s.pools, id)
		return nil
	})
}

// EnableFirewall turns on the firewall of the datacenter, as a person would.
func (s *Sim) EnableFirewall() {
	_ = s.locked(func() error { s.firewallOf(clusterFirewall).options["enable"] = "1"; return nil })
}

// SetAlias makes or replaces an alias of the datacenter's firewall, as a person would.
func (s *Sim) SetAlias(name, cidr, comment string) {
	_ = s.locked(func() error {
		v := values{"name": name, "cidr": cidr, "ipversion": itoa(cidrFamily(cidr))}
		if comment != "" {
			v["comment"] = comment
		}
		s.firewallOf(clusterFirewall).aliases[strings.ToLower(name)] = v
		return nil
	})
}

// RemoveAlias removes an alias of the datacenter's firewall, as a person would. Rules that name it lose their effect.
func (s *Sim) RemoveAlias(name string) {
	_ = s.locked(func() error {
		delete(s.firewallOf(clusterFirewall).aliases, strings.ToLower(name))
		return nil
	})
}

// SetGroup makes or replaces a security group, as a person would. A rule has native keys, and is in effect if enable is 1.
func (s *Sim) SetGroup(name, comment string, rules ...map[string]string) {
	_ = s.locked(func() error {
		g := &ruleGroup{comment: comment}
		for _, r := range rules {
			g.rules = append(g.rules, maps.Clone(r))
		}
		s.firewallOf(clusterFirewall).groups[name] = g
		return nil
	})
}

// RemoveGroup removes a security group with its rules, as a person would. Rules that name it lose their effect.
func (s *Sim) RemoveGroup(name string) {
	_ = s.locked(func() error {
		delete(s.firewallOf(clusterFirewall).groups, name)
		return nil
	})
}

// SetIPSet makes or replaces a set of the datacenter's firewall, as a person would. An address with a leading ! is excluded.
func (s *Sim) SetIPSet(name, comment string, addresses ...string) {
	_ = s.locked(func() error {
		set := &ipset{comment: comment, entries: map[string]values{}}
		for _, address := range addresses {
			cidr, excluded := strings.CutPrefix(address, "!")
			set.entries[cidr] = values{"cidr": cidr}
			if excluded {
				set.entries[cidr]["nomatch"] = "1"
			}
		}
		s.firewallOf(clusterFirewall).ipsets[name] = set
		return nil
	})
}

// RemoveIPSet removes a set of the datacenter's firewall with its entries, as a person would. Rules that name it lose their effect.
func (s *Sim) RemoveIPSet(name string) {
	_ = s.locked(func() error {
		delete(s.firewallOf(clusterFirewall).ipsets, name)
		return nil
	})
}
