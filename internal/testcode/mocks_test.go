package testcode

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestMockLines marks the lines that must count with M in a comment at their end, and lists what crosses the boundary.
func TestMockLines(t *testing.T) {
	for _, c := range []struct{ name, file, src, crosses string }{
		{"jest", "a.test.ts", `import { save } from './service';
import axios from 'axios';
jest.mock('./service', () => ({ //M
  ...jest.requireActual('./service'), //M
  save: jest.fn(), //M
})); //M
jest.mock('axios'); //M
const mocked = axios as jest.Mocked<typeof axios>;
describe('x', () => {
  beforeEach(() => { jest.useFakeTimers(); jest.setTimeout(9); });
  it('mocks', async () => {
    (save as jest.Mock).mockResolvedValue(1); //M
    mocked.get //M
      .mockResolvedValueOnce({ //M
        data: {}, //M
      }); //M
    const f = jest.fn<number, [string]>().mockReturnValue(2); //M
    await run(f);
    expect(save).toHaveBeenCalledWith( //M
      1, //M
    ); //M
    expect(f.mock.calls[0]).toEqual([1]); //M
    expect(axios).toBe(1);
    jest.requireActual('./other').run();
  });
});`, `"service", a module of the project's own`},
		{"vitest", "a.test.tsx", `import { vi as v, it, expect } from 'vitest';
import * as db from '@/db';
v.mock(import('pg')); //M
v.mock('@/lib/mailer'); //M
v.spyOn(db, 'query').mockImplementation(() => { //M
  return 1; //M
}); //M
it('x', () => {
  v.setSystemTime(0);
  const { container } = render(<App onClick={v.fn()} title="vi.fn()">Don't jest.mock() me</App>); //M
  expect(container).toBeTruthy();
});`, `"pg", a database; "@/db", a database`},
		{"sinon", "a.spec.js", `const sinon = require('sinon');
const { app: server } = require('../app');
const express = require('express');
const sandbox = sinon.createSandbox(); //M
it('x', () => {
  const s = sinon.stub(server, 'listen').callsFake(() => 1); //M
  const clock = sinon.useFakeTimers();
  sinon.assert.calledOnce(s); //M
  sinon.stub(express, 'Router'); //M
  nock('https://api.test').get('/').reply(200); //M
});
import nock from 'nock';`, `"../app", a module of the project's own; "express", a router`},
		{"node", "a.test.mjs", `import { mock, test } from 'node:test';
test('x', (t) => {
  const f = t.mock.fn(); //M
  mock.method(console, 'log'); //M
  mock.timers.enable();
  t.mock.timers.tick(1);
  assert.equal(f.mock.callCount(), 1); //M
});`, ``},
		{"case G15", "a/mockery/b.test.js", `// jest.mock('x'); vi.fn(); mock mock mock
/* expect(x).toHaveBeenCalled() */
import { mockup } from './mockery';
const s = "jest.mock('./x')" + 'vi.fn()' + ` + "`jest.fn() ${mockup('jest.fn()')}`" + `;
const re = /jest.mock\('x'\)/;
const mock = { mock: 1, mockName: 'x' };
it('mocks nothing: jest.fn()', () => { expect(mock.mock).toBe(mock.mockName); request(app).get('/mock').expect(200); });`, ``},
		{"all of a library", "a.test.ts", `import { setupServer } from 'msw/node';
import MockAdapter from 'axios-mock-adapter';
import { mockDeep } from 'jest-mock-extended';
import type { UserRepository } from '../users/user.repository';
import { PrismaClient } from '@prisma/client';
const server = setupServer( //M
  one, //M
); //M
const a = new MockAdapter(client); //M
const b = mockDeep<UserRepository>(); //M
const c = mockDeep(PrismaClient); //M`, `"@prisma/client", a database`},
		{"unittest.mock", "test_a.py", `import unittest.mock as um
from unittest import mock
from unittest.mock import (
    MagicMock as MM,
    patch,
)
from app.users import UserService

@patch("app.users.save",  #M
       autospec=True)  #M
@mock.patch.object(UserService, "load")  #M
def test_x(load, save: MM):
    """patch("x") MagicMock()"""
    save.return_value = 1  #M
    load.side_effect = [  #M
        1,
    ]
    m = MM()  #M
    with (patch("app.pay.requests.get") as get,  #M
            um.patch.dict("os.environ", {})):  #M
        run(m)
    get.assert_called_once_with(1)  #M
    assert m.call_count == 2  #M
    assert_called(1)
    assert run("mock") == 1  # mock.patch("x")
`, `"app.users.save", a module of the project's own; "app.users.UserService", a module of the project's own`},
		{"pytest-mock", "tests/test_b.py", `import pytest
from app import db
from sqlalchemy import create_engine

def test_x(mocker, client):
    mocker.patch("sqlalchemy.create_engine")  #M
    spy = mocker.spy(db, "get")  #M
    client.post("/mock", json={"return_value": 1})
    spy.assert_not_called()  #M

def test_y(monkeypatch):
    monkeypatch.setenv("A", "b")
    monkeypatch.setattr(db, "get", lambda: 1)  #M
`, `"sqlalchemy.create_engine", a database; "app.db", a database`},
		{"no mocking in Python", "test_c.py", `from app.mock import patch
def test_x():
    x.return_value = patch("app.y")
    y.side_effect = 1
    assert x.call_count
`, ``},
		{"mockito", "ATest.java", `package org.shop.orders;
import static org.mockito.Mockito.*;
import static org.mockito.ArgumentMatchers.any;
import org.mockito.Mock;
import org.mockito.ArgumentCaptor;
import org.shop.users.UserRepository;
import org.other.PaymentClient;
@ExtendWith(MockitoExtension.class) //M
class ATest {
  @Mock //M
  private UserRepository users; //M
  @Mock PaymentClient payments; //M
  @InjectMocks OrderService service; //M
  @Autowired MockMvc mockMvc;
  @Test void mocks() throws Exception {
    when(users.find(any())) //M
        .thenReturn(1); //M
    PriceService p = mock(PriceService.class); //M
    verify(users, times(1)).find(1); //M
    ArgumentCaptor<String> c = ArgumentCaptor.forClass(String.class); //M
    String s = "when(x).thenReturn(y)"; // mock(A.class)
    mockMvc.perform(get("/x")).andExpect(status().isOk());
    assertThat(service.run()).isEqualTo(1);
  }
}`, `"UserRepository", a database; "OrderService", a module of the project's own; "PriceService", a module of the project's own`},
		{"Java without mocks", "BTest.java", `import static org.assertj.core.api.Assertions.*;
class BTest { @Test void when() { when(1); verify(2); Mocker.mock(3); } }`, ``},
		{"WireMock", "CTest.java", `import com.github.tomakehurst.wiremock.WireMockServer;
import static com.github.tomakehurst.wiremock.client.WireMock.stubFor;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
class CTest { 
  WireMockServer s = new WireMockServer(8080); //M
  void a() { 
    stubFor(get("/x")); //M
  }
}`, ``},
		{"mockall", "tests/a.rs", `use mockall::{automock, mock, predicate::*};
#[automock] //M
trait Store { fn get(&self) -> u8; }
mock! { //M
    pub Clock {} //M
    impl Now for Clock { fn now(&self) -> u8; } //M
} //M
#[test]
fn mocks() {
    let mut m = MockStore::new(); //M
    m.expect_get() //M
        .with(eq(1)) //M
        .returning(|| 1); //M
    let s = "MockStore::new()"; // MockStore::new()
    let r = r#"m.expect_get()"#;
    assert_eq!(run(&m).expect("x"), 1);
    let x: Result<MockStore, ()> = Ok(m);
}`, `"Store", a module of the project's own`},
		{"mockito in Rust", "tests/b.rs", `#[test]
fn x() {
    let mut server = mockito::Server::new(); //M
    let m = server.mock("GET", "/x").with_status(200).create(); //M
    run(server.url());
}`, ``},
		{"no mocking in Rust", "tests/c.rs", "fn x() { a.mock(\"x\"); expect_x(1); Mocker::new(); let m = Mockery; }", ``},
		{"Go", "a_test.go", `package a
import "github.com/DATA-DOG/go-sqlmock"
func TestA(t *testing.T) {
	db, m, _ := sqlmock.New() //M
	p := NewMockPaymentClient(ctrl) //M
	r := NewMockUserRepo(ctrl) //M
}`, `"github.com/DATA-DOG/go-sqlmock", a database; "UserRepo", a database`},
	} {
		var want []int
		for i, line := range strings.Split(c.src, "\n") {
			if strings.HasSuffix(line, "//M") || strings.HasSuffix(line, "#M") {
				want = append(want, i+1)
			}
		}
		f, err := ReadMocks(c.file, []byte(c.src), false)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(f.Lines))
		if !slices.Equal(got, want) {
			t.Errorf("%s: lines %d mock, want %d", c.name, got, want)
		}
		var crossing []string
		for _, b := range f.Crossings() {
			if b.Line == 0 {
				t.Errorf("%s: %+v tells no place", c.name, b)
			}
			crossing = append(crossing, fmt.Sprintf("%q, %s", path.Clean(b.Name), b.What))
		}
		if got := strings.Join(crossing, "; "); got != c.crosses {
			t.Errorf("%s: crossing\n%s, want\n%s", c.name, got, c.crosses)
		}
	}
}

// TestInsideRust: of a source file with tests inside, only those lines count.
func TestInsideRust(t *testing.T) {
	src := "#[automock]\ntrait A {}\nfn f() { MockA::new(); }\n#[cfg(test)]\nmod tests {\n  fn t() {\n    MockA::new();\n  }\n}\n"
	f, _ := ReadMocks("src/a.rs", []byte(src), true) // only Go's can fail
	if got := fmt.Sprint(f.Total, slices.Collect(maps.Keys(f.Lines)), len(f.Targets)); got != "6 [7] 1" {
		t.Errorf("%s", got)
	}
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string]string{"httpClient": "http client", "HTTPClient": "http client", "user_repo-2": "user repo 2", "S3": "s3", "": "", "URL": "url"} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzMocksOfOtherLanguages(f *testing.F) {
	for i, src := range []string{"import a, {b as c} from 'sinon'; a.b<c>(d)?.[1]`x${1}`.e!.f()", "from a import (b as c\n@patch('x'", "import static a.*; @Mock <T> A<b> c; new X(", "mock! { pub A<", "#[automock", "require('x')"} {
		f.Add(uint8(i), src)
	}
	names := []string{"a.test.tsx", "test_a.py", "ATest.java", "tests/a.rs"}
	f.Fuzz(func(t *testing.T, lang uint8, src string) {
		got, _ := ReadMocks(names[int(lang)%len(names)], []byte(src), false)
		if len(got.Lines) > got.Total {
			t.Errorf("%d of %d lines mock", len(got.Lines), got.Total)
		}
		got.Crossings()
	})
}
