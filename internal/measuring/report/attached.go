package report

import (
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
)

// A Chapter is an attachment of a result that adds a section to its reports.
type Chapter interface {
	record.Attachment
	// Section is its part of the whole report of r, or an empty section.
	Section(r *record.Common) document.Part
	// Below are facts for the end of the first screen.
	Below(r *record.Common) document.Facts
}

// A Reason is an attachment that tells why two arms differ. In the report it comes before the expectations, and on the first
// screen before the other reasons. It has a separate page in the record, too.
type Reason interface {
	record.Attachment
	// Section is its part of the whole report of r.
	Section(r *record.Common) document.Part
	Page() (file string, page document.Document)
	// Why is its answer in one sentence without a full stop. If last is set, the other reasons, which tell where the time
	// went, say more and come first.
	Why() (answer string, last bool)
	// Between returns by how many seconds an arm's mean time surely differs from the baseline's; 0 if it does not, or if the
	// reason is about other arms.
	Between(baseline, arm string) float64
}

// reasonOf returns the attachment that tells why arms differ; nil without one.
func reasonOf(r *record.Common) Reason {
	for _, a := range r.Attached {
		if x, ok := a.(Reason); ok {
			return x
		}
	}
	return nil
}

// why returns the section of the reason; an empty one without a reason.
func why(r *record.Common) document.Part {
	if x := reasonOf(r); x != nil {
		return x.Section(r)
	}
	return document.Section{}
}

// chapters returns the sections of the chapters.
func chapters(r *record.Common) (parts []document.Part) {
	for _, a := range r.Attached {
		if c, ok := a.(Chapter); ok {
			parts = append(parts, c.Section(r))
		}
	}
	return parts
}
