package agentlog

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// event holds the keys of all the forms that are known; what a form has as a text where another has an object is raw.
type event struct {
	Type     string          `json:"type"`
	Role     string          `json:"role"`
	Status   string          `json:"status"`
	IsError  bool            `json:"is_error"`
	Parent   string          `json:"parent_tool_use_id"` // of a helper's message: not the agent's own
	Session  string          `json:"session_id"`
	Result   json.RawMessage `json:"result"`
	Response json.RawMessage `json:"response"`
	Content  json.RawMessage `json:"content"`
	Error    json.RawMessage `json:"error"`
	Message  json.RawMessage `json:"message"`
	Usage    *spent          `json:"usage"`
	Stats    *stats          `json:"stats"`
	Part     struct {
		Text   string `json:"text"`
		Tokens struct {
			Input  tokens `json:"input"`
			Output tokens `json:"output"`
			Cache  struct {
				Read  tokens `json:"read"`
				Write tokens `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Item struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"item"`
	Data struct {
		Content string `json:"content"`
	} `json:"data"`
	Messages []message `json:"messages"`
	Metadata *spent    `json:"metadata"`
}

// message is one of a conversation's.
type message struct {
	ID           string          `json:"id"`
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"` // a text, or parts
	Usage        *spent          `json:"usage"`
	StopReason   string          `json:"stopReason"`
	ErrorMessage string          `json:"errorMessage"`
}

// spent is what a message or a run used, in the words of several agents.
type spent struct {
	InputTokens   tokens `json:"input_tokens"` // codex, qwen: with cached ones; claude, amp: without
	CachedInput   tokens `json:"cached_input_tokens"`
	CacheRead     tokens `json:"cache_read_input_tokens"`
	CacheCreation tokens `json:"cache_creation_input_tokens"`
	OutputTokens  tokens `json:"output_tokens"`
	Total         tokens `json:"total_tokens"`
	CamelInput    tokens `json:"inputTokens"` // cursor-agent
	CamelOutput   tokens `json:"outputTokens"`
	CamelCache    tokens `json:"cacheReadTokens"`
	PiInput       tokens `json:"input"` // pi
	PiOutput      tokens `json:"output"`
	PiRead        tokens `json:"cacheRead"`
	PiWrite       tokens `json:"cacheWrite"`
}

// usage normalises. Where the total is input and output alone, or the cached ones are named "cached", the input holds
// them already.
func (s *spent) usage() Usage {
	if s == nil {
		return Usage{}
	}
	if s.CachedInput > 0 {
		return within(s.InputTokens, s.CachedInput, s.OutputTokens)
	}
	if s.Total > 0 && s.Total == s.InputTokens+s.OutputTokens {
		return within(s.InputTokens, s.CacheRead, s.OutputTokens)
	}
	cached := s.CacheRead + s.CamelCache + s.PiRead
	return within(s.InputTokens+s.CamelInput+s.PiInput+cached+s.CacheCreation+s.PiWrite, cached, s.OutputTokens+s.CamelOutput+s.PiOutput)
}

// stats is gemini's account of a run, in its two forms.
type stats struct {
	InputTokens  tokens `json:"input_tokens"`
	OutputTokens tokens `json:"output_tokens"`
	Cached       tokens `json:"cached"`
	Models       map[string]struct {
		Tokens struct {
			Prompt     tokens `json:"prompt"`
			Cached     tokens `json:"cached"`
			Candidates tokens `json:"candidates"`
			Thoughts   tokens `json:"thoughts"`
		} `json:"tokens"`
	} `json:"models"`
}

func (s *stats) usage() Usage {
	if s == nil {
		return Usage{}
	}
	if s.InputTokens+s.OutputTokens > 0 {
		return within(s.InputTokens, s.Cached, s.OutputTokens)
	}
	var sum Usage
	for _, m := range s.Models {
		sum = sum.plus(within(m.Tokens.Prompt, m.Tokens.Cached, m.Tokens.Candidates+m.Tokens.Thoughts))
	}
	return sum
}

func within(input, cached, output tokens) Usage {
	return Usage{Input: input.int(), Cached: min(cached, input).int(), Output: output.int()}
}

// tokens is a number of them as JSON may write it.
type tokens float64

// int is the number, within what an agent can use.
func (t tokens) int() int { return int(max(0, min(t, 1e9))) }

// event takes one event; false: it is none that an agent prints.
func (s *scanner) event(text []byte) bool {
	var e event
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(text, &e); err != nil && !errors.As(err, &mismatch) {
		return false
	}
	if !s.typed(&e) && !s.whole(&e) {
		return false
	}
	s.Events = true
	return true
}

// typed takes an event of a stream. Each form has a name for the final message, one for the use and one for an error.
func (s *scanner) typed(e *event) bool {
	switch e.Type {
	case "":
		return false
	case "item.completed": // codex; an item of type "error" is a warning
		if e.Item.Type == "agent_message" {
			s.say(e.Item.Text)
		}
	case "turn.completed":
		s.succeed()
		s.sum(e.Usage.usage())
	case "turn.failed", "error": // codex, opencode
		s.fail(errorText(e.Error, e.Message))
	case "text": // opencode: the texts after its last tool
		if e.Part.Text == "" {
			return false
		}
		s.say(s.Message + e.Part.Text + "\n")
	case "tool_use": // opencode, gemini
		s.say("")
	case "step_finish":
		s.succeed()
		t := e.Part.Tokens
		s.count("", within(t.Input+t.Cache.Read+t.Cache.Write, t.Cache.Read, t.Output))
	case "message": // gemini, in pieces
		if e.Role == "assistant" {
			s.say(s.Message + textOf(e.Content))
		}
	case "message_end": // pi
		s.messageEnd(e.Message)
	case "assistant": // claude, qwen, amp, cursor-agent
		var m message
		_ = json.Unmarshal(e.Message, &m)
		if text := textOf(m.Content); text != "" && e.Parent == "" {
			s.say(text)
		}
		s.count(m.ID, m.Usage.usage())
	case "result":
		s.result(e)
	case "assistant.message": // copilot
		if e.Data.Content != "" {
			s.say(e.Data.Content)
		}
	case "thread.started", "turn.started", "item.started", "item.updated", "step_start", "init", "tool_result", "session", "system", "user", "stream_event":
	default:
		// What pi and others tell besides. Their names are many, and a line of JSON that a test prints has none of them.
		return strings.HasPrefix(e.Type, "message_") || strings.HasPrefix(e.Type, "agent_") || strings.HasPrefix(e.Type, "turn_") || strings.HasPrefix(e.Type, "tool_execution_")
	}
	return true
}

func (s *scanner) messageEnd(raw json.RawMessage) {
	var m message
	if json.Unmarshal(raw, &m) != nil || m.Role != "assistant" {
		return
	}
	s.say(textOf(m.Content))
	s.count("", m.Usage.usage())
	if m.StopReason == "error" || m.StopReason == "aborted" {
		s.fail(m.StopReason + ": " + m.ErrorMessage)
	} else {
		s.succeed()
	}
}

// result takes the event that ends a run of claude, qwen, amp, cursor-agent or gemini.
func (s *scanner) result(e *event) {
	used := e.Usage.usage()
	if e.Stats != nil && e.Usage == nil {
		used = e.Stats.usage()
	}
	s.sum(used)
	text := textOf(e.Result)
	switch {
	case e.IsError || e.Status == "error":
		s.fail(errorText(e.Error, e.Result))
	case used == (Usage{}) && strings.HasPrefix(text, "[API Error:"):
		s.fail(text) // qwen 0.15 calls this a success
	default:
		s.succeed()
		if text != "" {
			s.say(text)
		}
	}
}

// whole takes the one object that gemini or goose print at their end.
func (s *scanner) whole(e *event) bool {
	switch {
	case e.Session != "" && (present(e.Response) || present(e.Error)):
		s.say(textOf(e.Response))
		s.sum(e.Stats.usage())
		if present(e.Error) {
			s.fail(errorText(e.Error))
		}
		return true
	case len(e.Messages) > 0 && e.Metadata != nil:
		for _, m := range e.Messages {
			if text := textOf(m.Content); m.Role == "assistant" && text != "" {
				s.say(text)
			}
		}
		s.sum(e.Metadata.usage())
		return true
	}
	return false
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// textOf is a text, or the texts of a message's parts.
func textOf(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	var texts []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// errorText is the message of an error, however deep it lies, else the error as it was printed.
func errorText(raws ...json.RawMessage) string {
	for _, raw := range raws {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var e struct {
			Message string `json:"message"`
			Data    struct {
				Message string `json:"message"`
				Code    int    `json:"statusCode"`
			} `json:"data"`
		}
		_ = json.Unmarshal(raw, &e)
		switch {
		case e.Message != "":
			return e.Message
		case e.Data.Message != "" && e.Data.Code != 0:
			return "status " + strconv.Itoa(e.Data.Code) + ": " + e.Data.Message
		case e.Data.Message != "":
			return e.Data.Message
		case present(raw):
			return string(raw)
		}
	}
	return "an error without a text"
}
