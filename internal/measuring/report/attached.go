package report

import (
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
)

// A Chapter is an attachment of a result that has a part in its reports.
type Chapter interface {
	record.Attachment
	// Section is its part of the whole report of r, or an empty section.
	Section(r *record.Common) document.Part
	// Below is what the first screen says of it at its end.
	Below(r *record.Common) document.Facts
}

// A Reason is a chapter about the difference of two arms. Only it may say because. It comes before the expectations, and
// first among the reasons on the first screen.
type Reason interface {
	Chapter
	// Why is its answer in one sentence without a full stop. If last is set, where the time went says more.
	Why() (answer string, last bool)
	// Between returns by how many seconds an arm's mean time surely differs from the baseline's; 0 where it does not, or
	// where the reason is about other arms.
	Between(baseline, arm string) float64
}

// An OwnPage is an attachment with a page of its own besides: a file in the record.
type OwnPage interface {
	Page() (file string, page document.Document)
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

// chapters returns the sections of all other attachments.
func chapters(r *record.Common) (parts []document.Part) {
	for _, a := range r.Attached {
		_, reason := a.(Reason)
		if c, ok := a.(Chapter); ok && !reason {
			parts = append(parts, c.Section(r))
		}
	}
	return parts
}
