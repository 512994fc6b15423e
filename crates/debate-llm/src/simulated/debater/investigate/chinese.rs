//! Puts a reply into the Chinese form of its message.

use std::borrow::Cow;

const HEADERS: [(&str, &str); 7] = [
    ("[HYPOTHESES]", "[假设列表]"),
    ("[EVIDENCE REPORT]", "[证据报告]"),
    ("[CHALLENGE]", "[挑战]"),
    ("[NO CHALLENGE]", "[无挑战]"),
    ("[STATUS UPDATE]", "[状态更新]"),
    ("[VERDICT]", "[裁决]"),
    ("[CONCLUSION]", "[结论]"),
];

const LABELS: [(&str, &str); 25] = [
    ("Hypothesis", "假设"),
    ("Prediction", "预测"),
    ("Status", "状态"),
    ("Confidence", "置信度"),
    ("Confidence Before", "原置信度"),
    ("Key Finding", "关键发现"),
    ("Supporting Evidence", "支持证据"),
    ("Counter Evidence", "反证"),
    ("Responses", "回应"),
    ("To", "致"),
    ("Challenge Type", "挑战类型"),
    ("Challenge", "挑战"),
    ("Expected Response", "期望的回应"),
    ("Hidden Evidence", "隐藏证据"),
    ("Round", "轮次"),
    ("Active Hypotheses", "活跃假设"),
    ("Leading Hypothesis", "领先假设"),
    ("Convergence", "收敛"),
    ("Answered Challenges", "已回应的挑战"),
    ("Open Challenges", "未回应的挑战"),
    ("Summary", "总结"),
    ("Needs More Information", "需要更多信息"),
    ("Missing Information", "缺失信息"),
    ("Conclusion", "结论"),
    ("Next Steps", "后续步骤"),
];

const VALUES: [(&str, &str); 14] = [
    ("INVESTIGATING", "调查中"),
    ("SUPPORTED", "支持"),
    ("WEAKENED", "削弱"),
    ("Evidence Quality", "证据质量"),
    ("Logic Flaw", "逻辑漏洞"),
    ("Counter Evidence", "反证"),
    ("Alternative Explanation", "替代解释"),
    ("New Evidence", "新证据"),
    ("Reasoning", "推理"),
    ("Experiment", "实验"),
    ("Withdrawal", "撤回"),
    ("None", "无收敛"),
    ("yes", "是"),
    ("no", "否"),
];

const PARTS: [(&str, &str); 6] = [
    ("- [file_line] ", "- [文件行] "),
    ("- [command_output] ", "- [命令输出] "),
    ("- [data] ", "- [数据] "),
    (" | answer | ", " | 回答 | "),
    (" | concede | ", " | 承认 | "),
    (" | refuse | ", " | 拒绝 | "),
];

/// Returns a reply with its headers, labels and fixed values in Chinese.
pub(super) fn of(reply: &str) -> String {
    let lines: Vec<Cow<'_, str>> = reply.split('\n').map(line).collect();
    lines.join("\n")
}

fn line(line: &str) -> Cow<'_, str> {
    if let Some(header) = looked_up(&HEADERS, line) {
        return header.into();
    }
    if line.starts_with("- ") {
        let part = PARTS.iter().find(|(english, _)| line.contains(english));
        return part.map_or(line.into(), |(english, chinese)| line.replacen(english, chinese, 1).into());
    }
    let Some((label, value)) = line.split_once(':') else { return line.into() };
    let Some(label) = looked_up(&LABELS, label) else { return line.into() };
    let value = value.trim_start();
    format!("{label}：{}", looked_up(&VALUES, value).unwrap_or(value)).into()
}

fn looked_up(table: &[(&str, &'static str)], english: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == english).map(|(_, chinese)| *chinese)
}
