package manifest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/reason"
)

// imageSpec is the spec of an Image: a file that Proxmox downloads.
type imageSpec struct {
	url, checksum, storage, content, format, decompression opt[string]
	nodes                                                  textList
	prune                                                  opt[bool]
}

func (s *imageSpec) fields() []field {
	return []field{
		{"url", "", "Where the nodes download the file. The agent's host allows the server in images.allow. Required.", withExamples(text(&s.url, webAddress), `"https://cloud.debian.org/images/cloud/trixie/latest/debian-13-genericcloud-amd64.qcow2"`)},
		{"checksum", "", "Checksum of what the server sends, before it is decompressed. Another checksum is another file. Required.", text(&s.checksum, checksumText)},
		{"storage", "", "Storage that keeps the file. Required.", text(&s.storage, storageName)},
		{"nodes", "", "Nodes that each keep the file, for a storage of their own. Without nodes, all nodes share the storage.", list(&s.nodes, nodeName, "")},
		{"content", "", "What the file is: an image to install from (iso), a container template (vztmpl) or a disk image (import). Required.", choice(&s.content, string(image.ISO), string(image.Template), string(image.Import))},
		{"format", "", "Ending of the file's name, if the URL does not end in it: a disk image called .img is qcow2 or raw. Default: that of the URL.", choice(&s.format, imageFormats()...)},
		{"decompression", "", "Compression that Proxmox removes: gz or zst, of iso only. Default: none.", choice(&s.decompression, image.Compressions()...)},
		{"prune", "", "Delete files that the agent downloaded for this Image, that the manifest does not describe any more, and that no guest, snapshot or manifest uses. Default: false.", flag(&s.prune)},
	}
}

func imageFormats() []string {
	return slices.Concat(image.Formats(image.ISO), image.Formats(image.Template), image.Formats(image.Import))
}

// maxImageName leaves room for checksum and ending in the name of a file.
const maxImageName = 200

// images are the Images of a source by name. An Image that was not understood is nil.
type images map[string]*image.Desired

// image decodes an Image.
func (p *parser) image(doc *document) {
	var s imageSpec
	before := p.report.count
	d := newDecoder(p.report, doc.label(), &s)
	if doc.spec != nil {
		decodeObject(d, doc.spec, &s)
	}
	p.images[doc.meta.name.value] = nil
	if p.report.count > before {
		return
	}
	s.check(d, doc)
	if p.report.count > before {
		return
	}
	wanted := s.desired(doc)
	p.images[wanted.Name] = &wanted
	p.set.Images = append(p.set.Images, wanted)
}

// check reports missing fields, and fields that do not fit each other.
func (s *imageSpec) check(d decoder, doc *document) {
	for _, required := range []struct {
		name  string
		value opt[string]
		want  string
	}{
		{"url", s.url, "the address of the file"},
		{"checksum", s.checksum, "the checksum of the file: it is part of the file's name, and Proxmox compares it"},
		{"storage", s.storage, "the storage that keeps the file"},
		{"content", s.content, "iso, vztmpl or import"},
	} {
		if !required.value.set {
			d.problem(doc.at, "got no "+required.name+", want "+required.want, "")
		}
	}
	if name := doc.meta.name; len(name.value) > maxImageName {
		d.path = "metadata.name"
		d.problem(name.at, fmt.Sprintf("got a name of %d bytes, want at most %d: it begins the name of a file", len(name.value), maxImageName), "")
	}
	if !s.content.set || !s.url.set {
		return
	}
	content, compressed := image.Content(s.content.value), image.CompressedBy(s.urlPath())
	if s.decompression.set && content == image.Import {
		d.below("decompression").newProblem(s.decompression.at, "got a compression to remove from a disk image: Proxmox decompresses iso alone", reason.Decompress.Text)
	}
	switch {
	case s.decompression.set && content == image.Template:
		d.below("decompression").problem(s.decompression.at, "got a compression to remove from a container template, which Proxmox keeps compressed", "leave it out")
	case s.format.set && !slices.Contains(image.Formats(content), s.format.value):
		d.below("format").problem(s.format.at, "got "+tree.Quote(s.format.value)+", want one of "+strings.Join(image.Formats(content), ", ")+" for "+s.content.value, "")
	case content == image.Import && compressed != "" && !s.decompression.set && s.format.set:
		d.below("url").newProblem(s.url.at, "got a file that is compressed with "+compressed+" for disks: Proxmox would import it as it is", reason.Decompress.Text)
	case content == image.ISO && compressed != "" && !s.decompression.set && s.format.set:
		d.below("url").newProblem(s.url.at, "got a file that is compressed with "+compressed+", which Proxmox would keep as it is", s.missingFormatHint(content))
	case content == image.ISO && compressed != "" && s.format.set && compressed != s.decompression.value:
		hint := reason.Decompress.Text
		if slices.Contains(image.Compressions(), compressed) {
			hint = "write decompression: " + compressed
		}
		d.below("decompression").newProblem(s.decompression.at, "got "+s.decompression.value+" for a file that is compressed with "+compressed+": Proxmox would fail to decompress it", hint)
	case !s.format.set && s.formatOfURL() == "":
		d.below("url").problem(s.url.at, "got an address that does not end in one of "+strings.Join(image.Formats(content), ", "),
			s.missingFormatHint(content))
	}
}

// missingFormatHint says how to correct an Image whose URL does not show a format.
func (s *imageSpec) missingFormatHint(content image.Content) string {
	switch content {
	case image.Import:
		if image.CompressedBy(s.urlPath()) != "" {
			return reason.Decompress.Text
		}
		return "set format"
	case image.Template:
		return "set format"
	case image.ISO:
	}
	return "set format, and decompression if the file is compressed with " + strings.Join(image.Compressions(), " or ")
}

func (s *imageSpec) formatOfURL() string {
	return image.FormatOf(s.urlPath(), image.Content(s.content.value), s.decompression.value)
}

// urlPath returns the path of the URL, "" for a URL that is refused elsewhere.
func (s *imageSpec) urlPath() string {
	address, err := url.Parse(s.url.value)
	if err != nil {
		return ""
	}
	return address.Path
}

func (s *imageSpec) desired(doc *document) image.Desired {
	algorithm, digits, _ := strings.Cut(s.checksum.value, ":")
	format := s.format.value
	if !s.format.set {
		format = s.formatOfURL()
	}
	nodes := texts(s.nodes)
	slices.Sort(nodes)
	return image.Desired{
		Name: doc.meta.name.value, Origin: guest.Origin(doc.at),
		Places: image.Places{Storage: placeOf(doc.spec, "storage"), Nodes: placeOf(doc.spec, "nodes"), URL: placeOf(doc.spec, "url")}, URL: s.url.value, Algorithm: algorithm, Checksum: strings.ToLower(digits), Storage: s.storage.value,
		Nodes: slices.Compact(nodes), Content: image.Content(s.content.value), Format: format, Decompression: s.decompression.value, Prune: s.prune.value,
	}
}

// imageField is the row of a field that names an Image instead of a volume.
func imageField(into *opt[string]) field {
	return field{"image", "", "Image whose file is used, instead of a volume. The guest waits until it is downloaded.", withExamples(text(into, imageName), `"debian-13"`)}
}

// file returns the volume that a source names by itself or as the file of an Image, and the name of the Image. Both are empty if none is understood.
func (l *lowering) file(p place, volume, name opt[string], field string, content image.Content) (id, object string) {
	switch {
	case volume.set && name.set:
		l.problem(name.place, "got an Image beside "+field+", want one of them", "")
	case volume.set:
		return volume.value, ""
	case !name.set:
		l.missing(p, "got no "+field+" and no image, want one of them", "")
	default:
		return l.fileOf(name, content), name.value
	}
	return "", ""
}

// fileOf returns the volume of an Image that is kept where the guest is created.
func (l *lowering) fileOf(name opt[string], content image.Content) string {
	wanted, exists := l.images[name.value]
	label := string(image.Kind) + "/" + name.value
	switch {
	case !exists:
		names := make([]string, 0, len(l.images))
		for other := range l.images {
			names = append(names, other)
		}
		slices.Sort(names)
		l.problem(name.place, "got "+label+", which does not exist", didYouMean(closest(name.value, names)))
	case wanted == nil: // its own problems are reported
	case wanted.Content != content:
		l.problem(name.place, fmt.Sprintf("got %s, which is kept as %s, want one that is kept as %s", label, wanted.Content, content), "")
	case l.node != "" && !wanted.IsOn(l.node):
		l.problem(name.place, fmt.Sprintf("got %s, which is kept on %s and not on %s, where the guest is created", label, strings.Join(wanted.Nodes, ", "), l.node),
			"add "+l.node+" to the nodes of the Image")
	default:
		return wanted.Volume()
	}
	return ""
}
