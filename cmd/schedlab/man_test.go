package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A manual page shows the texts of the help as they are, whatever roff would make of them.
func TestManualPage(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	root.Version = "v1"
	cmd := &cobra.Command{
		Use: "frob FILE", Short: "Frob a file", Run: func(*cobra.Command, []string) {},
		Long: "Frob it.\n'this' and C:\\dir stay.\n\n  indented --stays\n\n#### Linux:\n\nThe end.\n", Example: "  schedlab frob x",
	}
	fl := cmd.Flags()
	fl.StringP("name", "n", "a\tb", "a name")
	fl.Bool("fast", false, "do it fast")
	fl.Bool("secret", false, "nobody sees this")
	must(fl.MarkHidden("secret"))
	root.AddCommand(cmd)
	const want = `.nh
.TH "SCHEDLAB" "1" "Nov 2026" "schedlab v1" ""
.SH NAME
schedlab\-frob \- Frob a file
.SH SYNOPSIS
\fBschedlab frob FILE [flags]\fP
.SH DESCRIPTION
Frob it.
\&'this' and C:\edir stay.
.PP
.EX
  indented \-\-stays
.EE
.PP
\fBLinux:\fP
.PP
The end.
.SH OPTIONS
.TP
\fB\-\-fast\fP[=false]
do it fast
.TP
\fB\-h\fP, \fB\-\-help\fP[=false]
help for frob
.TP
\fB\-n\fP, \fB\-\-name\fP="a\etb"
a name
.SH EXAMPLE
.EX
  schedlab frob x
.EE
.SH SEE ALSO
\fBschedlab(1)\fP
`
	if got := manualPage(cmd, "Nov 2026"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	page := manualPage(root, "Nov 2026")
	if !strings.Contains(page, `schedlab\-compare(1), `) || strings.Contains(page, `schedlab\-help`) {
		t.Errorf("the page of schedlab does not name the commands below it:\n%s", page)
	}
}

// Packagers set SOURCE_DATE_EPOCH to build the same pages again.
func TestManualMonth(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if month, err := manualMonth(); err != nil || month != "Jan 1970" {
		t.Errorf("got %q, %v", month, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := manualMonth(); err == nil || !strings.Contains(err.Error(), `SOURCE_DATE_EPOCH="soon" is not a number of seconds`) {
		t.Errorf("got %v", err)
	}
}
