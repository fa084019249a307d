package recordings

// RunningVM is a reply of /pending that has the size and the structure of a running virtual machine with three disks and a cloud-init drive.
const RunningVM = `{"data":[{"key":"name","value":"web-1"},{"value":4,"key":"cores"},{"key":"memory","value":"4096","pending":"8192"},` +
	`{"key":"sockets","value":1},{"key":"cpu","value":"x86-64-v2-AES"},{"key":"ostype","value":"l26"},{"key":"scsihw","value":"virtio-scsi-single"},` +
	`{"key":"agent","value":"enabled=1,fstrim_cloned_disks=1"},{"key":"onboot","value":1},{"key":"boot","value":"order=scsi0;net0"},` +
	`{"key":"net0","value":"virtio=BC:24:11:C4:03:21,bridge=vmbr0,firewall=1,tag=20"},` +
	`{"key":"scsi0","value":"local-lvm:vm-201-disk-0,discard=on,iothread=1,size=32G,ssd=1"},` +
	`{"key":"scsi1","value":"local-lvm:vm-201-disk-1,discard=on,size=100G"},{"key":"scsi2","pending":"local-lvm:vm-201-disk-2,size=8G"},` +
	`{"key":"ide2","value":"local-lvm:vm-201-cloudinit,media=cdrom,size=4M"},{"key":"ciuser","value":"ops"},{"key":"cipassword","value":"**********"},` +
	`{"key":"ipconfig0","value":"ip=10.0.20.11/24,gw=10.0.20.1"},{"key":"sshkeys","value":"ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE%20ops"},` +
	`{"key":"serial0","value":"socket","delete":1},{"key":"tags","value":"gitops-0a1b2c3d;prod;web"},{"key":"description","value":"web server\nof the shop"},` +
	`{"key":"meta","value":"creation-qemu=10.0.13,ctime=1795211766"},{"key":"smbios1","value":"uuid=045615d6-da0f-4761-aeb7-c603e82e697e"},` +
	`{"key":"vmgenid","value":"a4150ebb-6de8-4faf-ae64-4d4553dd8009"},{"key":"digest","value":"533c280962b1180498b74b48ed6d2d8d9b0eeb52"}]}`
