package manifest

// firmware is what a virtual machine boots with.
type firmware struct {
	bios, machine opt[string]
	efi           opt[efi]
	tpm           opt[tpm]
}

func (f *firmware) fields() []field {
	return []field{
		{"bios", "bios", "seabios, or ovmf for UEFI.", nativeChoice(&f.bios, "bios", "")},
		{"machine", "machine.type", "Machine type, such as q35. With a version it does not change.", text(&f.machine, machineType)},
		{"efi", "", "Disk for UEFI variables, slot efidisk0.", child(&f.efi)},
		{"tpm", "", "TPM, slot tpmstate0.", child(&f.tpm)},
	}
}

// efi is the disk that keeps UEFI variables.
type efi struct {
	storage, kind opt[string]
	secureBoot    opt[bool]
}

func (e *efi) fields() []field {
	return []field{
		{"storage", "efidisk0.storage", "Storage to create the disk on.", text(&e.storage, storageName)},
		{"type", "efidisk0.efitype", "Size of the variables; secure boot needs 4m. Used only to create the guest. Default: 4m with secureBoot, else Proxmox's.", nativeChoice(&e.kind, "efidisk0", "efitype")},
		{"secureBoot", "efidisk0.pre-enrolled-keys", "Enroll the distributions' and Microsoft's keys. Used only to create the guest.", flag(&e.secureBoot)},
	}
}

func (e *efi) lower(l *lowering) {
	switch {
	case e.secureBoot.value && e.kind.value == "2m":
		l.problem(e.kind.place, "got type 2m with secureBoot, want 4m", "")
	case e.secureBoot.value && !e.kind.set:
		l.put("efidisk0.efitype", e.secureBoot.place, "4m")
	}
}

// tpm is the state of an emulated TPM.
type tpm struct{ storage, version opt[string] }

func (t *tpm) fields() []field {
	return []field{
		{"storage", "tpmstate0.storage", "Storage to keep the state on.", text(&t.storage, storageName)},
		{"version", "tpmstate0.version", "Version; Windows 11 needs v2.0. Used only to create the guest.", nativeChoice(&t.version, "tpmstate0", "version")},
	}
}

// display is the graphics adapter.
type display struct {
	adapter, clipboard opt[string]
	memory             opt[int64]
}

func (d *display) fields() []field {
	return []field{
		{"type", "vga.type", "Adapter; serial0 shows a serial port as the console.", nativeChoice(&d.adapter, "vga", "type")},
		{"memory", "vga.memory", "Video memory, such as 32Mi.", memory(&d.memory, 4*mib)},
		{"clipboard", "vga.clipboard", "Share the clipboard with the console; vnc is the only type.", nativeChoice(&d.clipboard, "vga", "clipboard")},
	}
}

// serial is a serial port.
type serial struct {
	removal
	port opt[string]
}

func (s *serial) fields() []field {
	return []field{s.row(), {"port", "", "socket, for the serial console, or a device of the host.", text(&s.port, serialPort)}}
}

func (s *serial) lower(l *lowering) {
	if s.port.set {
		l.put(l.slot, s.port.place, s.port.value)
	}
}
