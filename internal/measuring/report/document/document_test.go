package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample has one of every part that all writers write.
func sample() Document {
	return Document{
		Name: "demo", Question: "Which <one>?", State: "PARTIAL", Answer: "pool is slower", Context: []string{"1 CPU", "go1.26"},
		Parts: []Part{
			Section{ID: "figures", Title: "Figures", About: "medians", Lead: "For a page.", Parts: []Part{
				Table{Rows: [][]string{{"arm", "p99"}, {"a|b", "1 ms"}, {"pool", "12 ms"}}, Marks: []Mark{{Class: "base"}, {Class: "c0", Notes: []int{1, 2}}}},
				Note("p99: the slowest 1 %"),
			}},
			Section{Title: "Empty", Parts: []Part{Lines{}, Table{}}},
			Table{Rows: [][]string{{"check", "found", "fix"}, {"memory", "little", "more"}, {"clock", "steady", ""}}, Words: true, Below: 2},
			Findings{{Mark: "fail", Class: "SLOWER", Text: "p99 < 1ms", Reason: "12 ms"}},
			Charts{{Alt: "a chart", Picture: "<svg></svg>", Instead: []Part{Lines{"drawn"}}}},
			Facts{{"Sure", "12 blocks"}, {"Sure", "A/A clean"}, {"Doubts", "two"}},
			Numbered{"the first", "the second"},
			Page{Lines{"for a page"}},
			Commands{{"again", "schedlab runs show 'a  b' " + strings.Repeat("x", 100)}},
		},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	want := `demo: Which <one>?
PARTIAL
pool is slower

1 CPU
go1.26

Figures (medians)
  arm           p99
  a|b          1 ms
  pool [1,2]  12 ms

  p99: the slowest 1 %

check   found
memory  little
        fix: more
clock   steady

fail p99 < 1ms
        12 ms

drawn

Sure    12 blocks
        A/A clean
Doubts  two

[1]  the first
[2]  the second

again  schedlab runs show 'a  b' ` + strings.Repeat("x", 100) + "\n"
	if diff := cmp.Diff(want, sample().Text(Options{Width: 60})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMarkdownEscapes(t *testing.T) {
	t.Parallel()
	got := sample().Markdown()
	for _, want := range []string{
		"## demo\n\n*Which &lt;one&gt;?*\n\n**PARTIAL**\n\n**pool is slower**\n\n1 CPU; go1.26.\n\n### Figures (medians)\n\n| arm | p99 |\n|---|---:|\n| a\\|b | 1 ms |\n| pool \\[1,2\\] | 12 ms |",
		"| memory | little | more |", "- **fail** `p99 < 1ms`: 12 ms", "- drawn", "- Doubts: two", "- [2] the second",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"Empty", "a page", "<svg>"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
}

func TestHTMLEscapesAndLinksItsNotes(t *testing.T) {
	t.Parallel()
	got, err := sample().HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<h1>pool is slower</h1>", "Which &lt;one&gt;?", `<h2 id="h-figures">Figures <small>(medians)</small></h2>`, `<p class="lead">For a page.</p>`,
		`<a href="#doubt-2">2</a>`, `<li id="doubt-2">the second</li>`, "<svg></svg>", "<summary>The same in figures and words</summary>", "<li>for a page</li>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"Empty", `aria-label="Runs"`} {
		if strings.Contains(got, not) {
			t.Errorf("%q stands for nothing in\n%s", not, got)
		}
	}
	around := sample()
	around.Around = []Anchor{{"All runs", "/"}, {"Older: <x>", "/runs/x/"}}
	if got, err = around.HTML(); err != nil || !strings.Contains(got, `aria-label="Runs"><a href="/">All runs</a>`+"\n"+`<a href="/runs/x/">Older: &lt;x&gt;</a>`) {
		t.Errorf("%v: no way to the pages around in\n%s", err, got)
	}
}

// Words are coloured, the answer is bold, and control characters do not pass.
func TestColour(t *testing.T) {
	t.Parallel()
	got := Document{Answer: "yes", Parts: []Part{Lines{"b is SLOWER: \x1b[2Jx"}}}.Text(Options{Colour: map[string]string{"SLOWER": "31"}})
	if want := "\x1b[1myes\x1b[0m\n\nb is \x1b[31mSLOWER\x1b[0m: [2Jx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What drives a terminal or turns text round does not pass: control characters become spaces, and
// characters that change the direction of text are dropped.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[31mb\u009bc\x00":     "a [31mb c ",
		"two\nlines\tand":           "two\nlines\tand",
		"p99 \u202e001\u202c ms":    "p99 001 ms", // an override: shown as 100
		"\u2066a\u2069\u200e\u061c": "a",
		"żółw 漢字 שלום":              "żółw 漢字 שלום",
	} {
		if got := Harmless(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Names that leave no room for the words beside them have the words below.
func TestLongNamesOfChips(t *testing.T) {
	t.Parallel()
	d := Document{Chips: []Chip{
		{Name: "uring,connections=2000,pipeline=16 against epoll,connections=2000,pipeline=16", Mark: "FASTER", Text: "p50 -6.5 %", Bar: "├●┤ ┊"},
		{Name: "gnet", Mark: "open"},
	}}
	want := "uring,connections=2000,pipeline=16 against epoll,connections=2000,pipeline=16  FASTER\n    p50 -6.5 %\ngnet  open\n"
	if got := d.Text(Options{Width: 90}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
