// Package image describes the kind Image: a file that Proxmox downloads to a storage, and from which guests are made.
//
// The name of the file contains the beginning of its checksum. So another checksum is another file, and no file is ever overwritten.
package image

import (
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Kind is the kind of an Image in manifests and labels.
const Kind guest.Kind = "Image"

// Content is what a storage keeps a file as. Its text is Proxmox's.
type Content string

// The contents to which Proxmox downloads files.
const (
	ISO      Content = "iso"
	Template Content = "vztmpl"
	Import   Content = "import"
)

// Desired is an Image as its manifest describes it.
type Desired struct {
	Name   string
	Origin guest.Origin
	Places Places

	URL           string
	Algorithm     string // of the checksum: sha256 or sha512
	Checksum      string // of what the server sends, in lower case hex digits
	Storage       string
	Nodes         []string // on each of which the file is kept, sorted; none if all nodes share the storage
	Content       Content
	Format        string // the ending of the file's name, "qcow2"
	Decompression string // gz or zst; "" if the file is kept as it is sent. Only an ISO image can be decompressed, but a revision in force may want it of a disk image
	Prune         bool   // the agent deletes former files that nothing uses
}

// Places are where a manifest sets fields of an Image, the zero Origin where it does not.
type Places struct{ Storage, Nodes, URL guest.Origin }

// Former is a storage with former files of an Image whose manifest was removed.
type Former struct{ Name, Storage string }

// Ref returns the identity of the Image.
func (f Former) Ref() guest.Ref { return guest.Ref{Kind: Kind, Name: f.Name} }

// WithoutPosition returns the Image without its position in files: moving a line is not a change.
func (d Desired) WithoutPosition() Desired {
	d.Origin, d.Places = guest.Origin{}, Places{}
	return d
}

// Ref returns the identity of the Image. It has no vmid.
func (d Desired) Ref() guest.Ref { return guest.Ref{Kind: Kind, Name: d.Name} }

// File returns the name of the file, "debian-13-4a6b0d1c2e3f.qcow2".
func (d Desired) File() string {
	return d.Name + "-" + d.Checksum[:min(len(d.Checksum), checksumDigits)] + "." + d.Format
}

// checksumDigits is how many digits of the checksum the name of a file contains.
const checksumDigits = 12

// Volume returns the id of the file in Proxmox, "local:import/debian-13-4a6b0d1c2e3f.qcow2".
func (d Desired) Volume() string { return d.Storage + ":" + string(d.Content) + "/" + d.File() }

// IsOn reports whether the manifest keeps the file on a node.
func (d Desired) IsOn(node string) bool { return len(d.Nodes) == 0 || slices.Contains(d.Nodes, node) }

// formats are the endings that Proxmox accepts for each content. An OVA archive is left out: a disk is imported from a member of it.
// A template whose ending is tar is an archive of an OCI image, which Proxmox accepts since 9.1.
//
// Source: pve-storage, PVE/Storage.pm, the patterns of download-url.
var formats = map[Content][]string{
	ISO:      {"iso", "img"},
	Template: {"tar.gz", "tar.xz", "tar.zst", "tar.bz2", "tar"},
	Import:   {"qcow2", "raw", "vmdk"},
}

// Formats returns the endings of files that Proxmox accepts for a content.
func Formats(c Content) []string { return formats[c] }

// compressions are the endings of files that Proxmox decompresses.
var compressions = []string{"gz", "zst"}

// Compressions returns the compressions that Proxmox removes from a file, by their endings.
func Compressions() []string { return compressions }

// CompressedBy returns the ending of the path of a URL if it says that the file is compressed: "gz", "xz"; "" otherwise.
func CompressedBy(urlPath string) string {
	ending := strings.TrimPrefix(strings.ToLower(path.Ext(urlPath)), ".")
	if slices.Contains([]string{"gz", "xz", "zst", "bz2", "lzo", "lz4", "lzma", "zip", "7z"}, ending) {
		return ending
	}
	return ""
}

// NeverDownloads returns why no node can download the file, "" if one can. Proxmox accepts the request for a file that it does not decompress, and its task fails.
//
// Source: pve-storage, PVE/API2/Storage/Status.pm, download_url.
func (d Desired) NeverDownloads() string {
	if d.Decompression == "" || d.Content == ISO {
		return ""
	}
	return "Proxmox decompresses " + string(ISO) + " alone, and refuses the compression " + d.Decompression + " of " + string(d.Content)
}

// FormatOf returns the ending of the file that Proxmox keeps of a URL, "" if the URL does not show one that the content accepts.
func FormatOf(urlPath string, content Content, decompression string) string {
	name := strings.ToLower(path.Base(urlPath))
	if decompression != "" {
		name = strings.TrimSuffix(name, "."+decompression)
	}
	for _, format := range formats[content] {
		if strings.HasSuffix(name, "."+format) {
			return format
		}
	}
	return ""
}
