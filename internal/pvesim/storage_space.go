package pvesim

// FillStorage leaves no room on a storage: what allocates or grows a volume on it fails with the text of its type, reads go on. An
// unknown storage is ignored.
func (s *Sim) FillStorage(id string) {
	s.changeStorage(id, func(st *storage) { st.full = true })
}

// DrainStorage ends FillStorage.
func (s *Sim) DrainStorage(id string) {
	s.changeStorage(id, func(st *storage) { st.full = false })
}

func (s *Sim) changeStorage(id string, change func(*storage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.storage(id); st != nil {
		change(st)
	}
}

// allocatedBytes is what the volumes could grow to, in bytes.
func (st *storage) allocatedBytes() int64 {
	n := int64(0)
	for _, v := range st.volumes {
		n += v.stored()
	}
	return n
}

// checkSpace refuses to write size more bytes for a guest where they do not fit. A storage with Thick holds no more than its size; any
// other lets its volumes promise more than it has, until it is full. The state is locked.
func (st *storage) checkSpace(vmid int, size int64) error {
	if !st.full && (!st.Thick || st.allocatedBytes()+size <= st.Size) {
		return nil
	}
	name := st.freeName(vmid, "raw")
	if st.Type == "dir" {
		return apiErrorf("unable to create image: qemu-img: %s: Could not resize file: No space left on device", st.path(name))
	}
	return apiErrorf("lvcreate 'pve/%s' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold.", name)
}
