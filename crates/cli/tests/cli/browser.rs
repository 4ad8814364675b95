//! A browser without a window, driven through its pipe (the Chrome DevTools Protocol): opens a page, acts as a reader does, and
//! remembers everything that the page asked for or complained of.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Time after which a browser that does not answer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    input: ChildStdin,
    answers: Receiver<Value>,
    session: Value,
    last: u64,
    /// Addresses that the page asked for.
    pub(crate) requests: Vec<String>,
    /// Errors and exceptions, and whatever the page wrote to the console.
    pub(crate) complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A browser in which `page` is open and drawn; `None`, and a line that says so, where there is none.
    pub(crate) fn open(page: &Path, theme: &str) -> Option<Self> {
        let profile = tempfile::tempdir().expect("a temporary directory");
        // The pipe has the numbers 3 and 4. Inside a container there is no sandbox to be had.
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --remote-debugging-pipe \
                      --no-first-run --disable-component-update --user-data-dir=\"$1\" --window-size=1300,900 \
                      3<&0 4>&1 >/dev/null 2>/dev/null </dev/null";
        if !Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success()) {
            let why = "no chromium on this host (apt-get install chromium)";
            // Not captured, as what passing tests print is.
            writeln!(std::io::stderr(), "SKIPPED: pages were not opened: {why}").expect("stderr");
            return None;
        }
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("a shell starts");
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser answers in JSON");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            input,
            answers,
            session: Value::Null,
            last: 0,
            requests: Vec::new(),
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        let feature = json!([{"name": "prefers-color-scheme", "value": theme}]);
        browser.call("Emulation.setEmulatedMedia", &json!({"features": feature}));
        browser.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        browser.until("document.documentElement && document.documentElement.dataset.ready === 'yes'");
        Some(browser)
    }

    /// Calls a method and returns its result.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|error| panic!("{method}: the browser does not answer: {error}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.heard(&answer);
        }
    }

    fn heard(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => {
                self.complaints.push(params.to_string());
            }
            _ => {}
        }
    }

    /// Value of an expression of JavaScript, after its promise where it is one.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Text of an expression.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until `condition` holds.
    pub(crate) fn until(&mut self, condition: &str) {
        let begin = std::time::Instant::now();
        while self.value(condition) != Value::Bool(true) {
            assert!(begin.elapsed() < PATIENCE, "never: {condition}; {:?}", self.complaints);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Moves the pointer to a place of the element `selector`, given as shares of its width and height.
    pub(crate) fn point(&mut self, selector: &str, across: f64, down: f64) {
        let place = self.value(&format!(
            "(() => {{ const element = document.querySelector({selector:?}); element.scrollIntoView({{block: 'center'}}); \
             const box = element.getBoundingClientRect(); \
             return [box.left + box.width * {across}, box.top + box.height * {down}]; }})()"
        ));
        for offset in [0.0, 1.0] {
            let (x, y) = (place[0].as_f64().unwrap_or(0.0) + offset, place[1].as_f64().unwrap_or(0.0));
            self.call("Input.dispatchMouseEvent", &json!({"type": "mouseMoved", "x": x, "y": y}));
        }
    }

    /// Presses a key, which goes to the element with the focus.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" && key.chars().count() == 1 { key } else { "" };
            self.call("Input.dispatchKeyEvent", &json!({"type": kind, "key": key, "text": text}));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
