package report

// SchemaVersion is the version of Document. It grows when a field changes its meaning or is removed. A new field does not change it.
const SchemaVersion = 1

// Document is a report as JSON: /status.json, and gitops-agent status -o json. Its fields are those of the report, and the version.
type Document struct {
	SchemaVersion int `json:"schemaVersion"`
	Report
}

// NewDocument returns the report as a document. The lists are never null.
func NewDocument(r Report) Document {
	if r.Guests == nil {
		r.Guests = []Guest{}
	}
	if r.Unmanaged == nil {
		r.Unmanaged = []GuestName{}
	}
	return Document{SchemaVersion: SchemaVersion, Report: r}
}
