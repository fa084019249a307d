terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

locals {
  nodes = ["pve1", "pve2", "pve3"]

  web_rules = [
    { proto = "tcp", dport = "80,443", comment = "" },
  ]
  db_rules = [
    { proto = "tcp", dport = "5432", source = "10.0.20.0/24", comment = "the web servers" },
  ]

  web = { for n in range(1, 13) : format("web-%02d", n) => {
    vmid  = 600 + n, node = local.nodes[(n - 1) % 3], host = 10 + n, team = "web"
    cores = 2, memory = 2048, data = 0, protection = false, rules = local.web_rules
  } }
  db = { "db-1" = {
    vmid  = 650, node = "pve1", host = 50, team = "data"
    cores = 4, memory = 16384, data = 200, protection = true, rules = local.db_rules
  } }
  servers = merge(local.web, local.db)
}

resource "proxmox_download_file" "debian_13" {
  node_name          = local.nodes[0]
  datastore_id       = "images" # that all nodes share
  content_type       = "import"
  url                = "https://cloud.debian.org/images/cloud/trixie/20250924-2245/debian-13-genericcloud-amd64-20250924-2245.qcow2"
  checksum           = "4b78f42b31a1fca6ceff55b48f00ce4c08e05bd12c5f7ec8f3d7d2e0e1b2a0f3c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4"
  checksum_algorithm = "sha512"
}

resource "proxmox_virtual_environment_pool" "prod" {
  pool_id = "prod"
  comment = "everything that customers see"
}

resource "proxmox_virtual_environment_vm" "server" {
  for_each      = local.servers
  name          = each.key
  vm_id         = each.value.vmid
  node_name     = each.value.node
  pool_id       = proxmox_virtual_environment_pool.prod.pool_id
  tags          = ["prod", "team-${each.value.team}"]
  on_boot       = true
  started       = true
  protection    = each.value.protection
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0"]

  agent {
    enabled = true
  }
  operating_system {
    type = "l26"
  }
  cpu {
    cores = each.value.cores
    type  = "x86-64-v2-AES"
  }
  memory {
    dedicated = each.value.memory
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_download_file.debian_13.id
    size         = 20
    discard      = "on"
  }
  dynamic "disk" {
    for_each = each.value.data > 0 ? [each.value.data] : []
    content {
      interface    = "scsi1"
      datastore_id = "local-lvm"
      size         = disk.value
      discard      = "on"
    }
  }
  network_device {
    bridge   = "vmbr0"
    vlan_id  = 20
    firewall = true
  }
  network_device {
    bridge   = "vmbr0"
    vlan_id  = 30 # backups and monitoring
    firewall = true
  }
  initialization {
    datastore_id = "local-lvm"
    dns {
      servers = ["10.0.20.53"]
    }
    ip_config {
      ipv4 {
        address = "10.0.20.${each.value.host}/24"
        gateway = "10.0.20.1"
      }
    }
    ip_config {
      ipv4 {
        address = "10.0.30.${each.value.host}/24"
      }
    }
    user_account {
      username = "ops"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK ops@home"]
    }
  }

  lifecycle {
    ignore_changes = [node_name] # HA and people move guests
  }
}

resource "proxmox_virtual_environment_firewall_options" "server" {
  for_each     = local.servers
  node_name    = proxmox_virtual_environment_vm.server[each.key].node_name
  vm_id        = proxmox_virtual_environment_vm.server[each.key].vm_id
  enabled      = true
  input_policy = "DROP"
}

resource "proxmox_virtual_environment_firewall_ipset" "admins" {
  for_each  = local.servers
  node_name = proxmox_virtual_environment_vm.server[each.key].node_name
  vm_id     = proxmox_virtual_environment_vm.server[each.key].vm_id
  name      = "admins"
  cidr {
    name    = "10.0.10.0/24"
    comment = "the admins"
  }
}

resource "proxmox_virtual_environment_firewall_rules" "server" {
  for_each   = local.servers
  depends_on = [proxmox_virtual_environment_firewall_ipset.admins]
  node_name  = proxmox_virtual_environment_vm.server[each.key].node_name
  vm_id      = proxmox_virtual_environment_vm.server[each.key].vm_id
  rule {
    type   = "in"
    action = "ACCEPT"
    macro  = "SSH"
    source = "+admins"
  }
  dynamic "rule" {
    for_each = each.value.rules
    content {
      type    = "in"
      action  = "ACCEPT"
      proto   = rule.value.proto
      dport   = rule.value.dport
      source  = try(rule.value.source, null)
      comment = rule.value.comment
    }
  }
}

resource "proxmox_backup_job" "prod" {
  id            = "prod"
  schedule      = "02:30"
  storage       = "nfs"
  vmid          = [for s in local.servers : tostring(s.vmid)]
  mode          = "snapshot"
  compress      = "zstd"
  prune_backups = { keep-last = "3", keep-daily = "7", keep-weekly = "4" }
}
