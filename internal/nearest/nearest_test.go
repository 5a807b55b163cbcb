package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"depends_on", "description", "priority", "status", "id", "T-028", "T-029"}
	for word, want := range map[string]string{
		"depend_on": "depends_on", "dependson": "depends_on", "Priority": "priority", "pritority": "priority",
		"staus": "status", "sttaus": "status", "T-28": "T-028", "ids": "id", "zebra": "", "": "", "context": "", "优先级": "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Word("x", nil); got != "" {
		t.Errorf("with nothing known: %q", got)
	}
}
